"""A box's speed beside what its labs are written for."""

from dataclasses import replace

import pytest

from labs.live import pace
from labs.live.boxes import box
from labs.live.calibration import Fit
from labs.simulator.cost_model import profile

FIT = Fit(10.0, 1.4, 0.48, 0.38, 600, 0.05)


def test_a_box_as_fast_as_written_for_is_fast_enough():
    steps = pace.steps_of(FIT, profile("small-llama-cpu").cost_model())
    assert [round(each.ratio, 1) for each in steps] == pytest.approx([1.0] * 3, abs=0.2)
    assert pace.told(steps)[-1] == "This box is fast enough for its labs."


def test_one_that_is_slow_at_prompts_alone_is_told_so():
    slow = replace(FIT, prefill_ms_per_token=1.2)
    steps = pace.steps_of(slow, profile("small-llama-cpu").cost_model())
    assert [each.ratio > pace.SLOWEST for each in steps] == [False, False, True]
    assert "for a prompt of 512 tokens as its labs are written for" in pace.told(steps)[-1]


def test_an_engine_of_many_models_or_of_others_is_not_measured(tmp_path):
    with pytest.raises(ValueError, match="h100-sxm-4: only an engine of one model"):
        pace.measure(box("h100-sxm-4"), folder=tmp_path, tell=lambda share, doing: None)
