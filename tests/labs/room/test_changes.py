"""Changes in force, and those that can still be made."""

from tests.labs.room.logs import begun, change

SHED = {"verb": "shed", "percent": "20"}


def keys(found):
    return [tool.key for tool in found.tools.changes]


def test_a_change_in_force_is_named_by_its_title_and_not_offered_again():
    found = begun(change(1, SHED, text="Sheds 20 %."))
    (one,) = found.tools.in_force
    assert (one.number, one.since, one.cost) == (1, "1:50", "1:20")
    assert one.title == found.spec.changes["shed"].title
    assert "shed" not in keys(found)


def test_a_change_that_was_taken_back_is_offered_again():
    found = begun(change(1, SHED), change(2, {"verb": "undo", "of": 1}))
    assert found.tools.in_force == []
    assert "shed" in keys(found)


def test_a_restart_that_changes_nothing_cannot_be_taken_back_but_can_be_made_again():
    found = begun(change(1, {"verb": "restart"}))
    assert [each.cost for each in found.tools.in_force] == [""]
    assert "restart" in keys(found)


def test_a_change_of_ones_own_is_named_by_what_it_said():
    own = {"verb": "restart", "--max-num-seqs": "31"}
    (one,) = begun(change(1, own, text="Restarted with --max-num-seqs 31")).tools.in_force
    assert one.title == "Restarted with --max-num-seqs 31"
