"""The ruler: one phase is now, and a missed verification opens another round."""

from tests.labs.room.logs import begun, change, entry, reading, verification

SHED = {"verb": "shed", "percent": "20"}


def states(found):
    return {phase.name: phase.state for phase in found.phases}


def diagnosis(scope="fault"):
    return entry("diagnose", payload={"scope": scope})


def test_the_first_phase_that_is_not_done_is_now():
    found = states(begun(reading()))
    assert (found["Investigate"], found["Diagnose"], found["Change"]) == ("done", "now", "ahead")


def test_a_missed_verification_opens_another_round():
    found = begun(
        reading(), diagnosis(), change(2, SHED), verification(3, 300.0, ttft=0.1, gap=0.2)
    )
    round_ = states(found)
    assert (round_["Diagnose"], round_["Change"], round_["Verify"]) == ("now", "tried", "tried")
    assert found.wanted.startswith("Another round.")


def test_a_verification_that_holds_leads_to_the_explanation():
    found = begun(
        reading(), diagnosis(), change(2, SHED), verification(3, 0.4, ttft=0.99, gap=0.98)
    )
    assert states(found)["Explain"] == "now"


def test_a_silent_alarm_with_a_broken_promise_opens_another_round():
    missed = verification(3, 0.4, ttft=0.99, gap=0.9)
    found = begun(reading(), diagnosis(), change(2, SHED), missed)
    assert states(found)["Diagnose"] == "now"


def test_who_says_that_nothing_is_wrong_need_not_change_anything():
    assert states(begun(reading(), diagnosis("nothing")))["Verify"] == "now"


def test_a_closed_attempt_is_at_its_debrief():
    assert states(begun(status="marking"))["Debrief"] == "now"


def test_what_was_never_entered_is_not_called_tried_after_closing():
    found = states(begun(reading(), status="marking"))
    assert (found["Investigate"], found["Diagnose"], found["Verify"]) == (
        "done",
        "skipped",
        "skipped",
    )
    assert [phase.words for phase in begun(status="marking").phases][3] == "Not entered"
