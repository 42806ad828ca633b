"""What stands in the console."""

import pytest

from tests.labs.room.logs import begun, entry, reading


def command(line, status, **outcome):
    return entry("command", status=status, payload={"line": line}, **outcome)


def test_the_last_five_exchanges_stand_open():
    console = begun(*(reading(number=number) for number in range(1, 8))).console
    assert [each.number for each in console.earlier] == [1, 2]
    assert [each.number for each in console.latest] == [3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("status", "refused", "failed"),
    [
        ("refused", "kubectl", ""),
        ("cancelled", "kubectl", ""),
        ("failed", "", "kubectl"),
        ("done", "", ""),
    ],
)
def test_a_line_that_was_not_answered_is_kept(status, refused, failed):
    console = begun(command("kubectl", status)).console
    assert (console.refused_line, console.failed_line) == (refused, failed)


def test_what_just_finished_is_told_once():
    done = entry("command", at_s=30, cost_s=30, kind="reading", number=1, text="…")
    assert begun(done).console.told == "Reading 1 is done at 0:30, cost 0:30."
    assert begun(done, entry("explain")).console.told == ""


def test_a_refusal_shows_its_commands_as_code_and_nothing_of_what_was_typed_as_markup():
    (refused,) = begun(command("<b>", "refused", text="No <b> here: `wait 5m`.")).console.latest
    assert refused.html == "No &lt;b&gt; here: <code>wait 5m</code>."


@pytest.mark.parametrize(
    ("text", "is_table"),
    [("id   ttft\n1    0.4", True), ('{"a": [1,\n  2]}', False), ("one line, however long", False)],
)
def test_only_a_table_keeps_its_columns(text, is_table):
    (shown,) = begun(command("x", "done", text=text)).console.latest
    assert shown.is_table is is_table
