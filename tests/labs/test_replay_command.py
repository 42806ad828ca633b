"""What ``manage.py replay_trace`` says of a difference."""

from labs.management.commands.replay_trace import narrowed
from labs.simulator.trace import Difference


def test_two_dicts_are_told_apart_by_their_first_differing_key():
    found = narrowed(Difference(None, "first_token_step", {"a": 1, "b": 2}, {"a": 1, "b": 3}))
    assert str(found) == "summary, first_token_step['b']: ours 2, theirs 3"
    plain = Difference(4, "running", 1, 2)
    assert narrowed(plain) == plain
