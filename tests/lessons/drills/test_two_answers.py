"""Drill 5.2's evidence against the arithmetic of its symptom."""

from lessons.drills.evidence.two_answers import _case, drawn_alike, logprob_change, observe


def test_one_part_against_one_part_changes_no_bit():
    for drawn in range(3):
        assert logprob_change(1, drawn, 0.0) == 0


def test_another_order_moves_a_logprob_by_hundredths_and_another_prompt_by_tenths():
    for drawn in range(3):
        assert 0.001 < logprob_change(4, drawn, 0.0) < 0.1
        assert logprob_change(1, drawn, 0.3) > 5 * logprob_change(4, drawn, 0.0)


def test_only_company_and_dice_disagree_with_themselves():
    for seed in range(4):
        again = {
            w: observe(w, seed).values["again_share"]
            for w in ("company", "ids", "drawn", "kinds", "filed")
        }
        assert {w for w, share in again.items() if share} == {"company", "drawn"}


def test_two_draws_agree_for_a_hundred_tokens_never():
    for drawn in range(3):
        assert drawn_alike(drawn) ** 100 < 1e-6


def test_a_mixed_fleet_differs_less_than_its_other_kind_alone():
    for seed in range(4):
        kinds, filed = observe("kinds", seed), observe("filed", seed)
        assert _case("kinds", seed).other_share < 1
        assert kinds.values["differ_share"] <= filed.values["differ_share"]
