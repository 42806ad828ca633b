"""Drill 4.1's evidence against the arithmetic of its symptom."""

import pytest

from lessons.drills.evidence.half_the_bytes import BF16, CALM, CONTEXT, _case, observe
from lessons.exact.roofline import decode_step, host_ms


def test_half_the_bytes_halve_the_products_and_nothing_else():
    old = decode_step(BF16, batch=32, context_tokens=CONTEXT)
    new = decode_step(CALM, batch=32, context_tokens=CONTEXT)
    assert new.ms("gemm") == pytest.approx(old.ms("gemm") / 2)
    for name in ("attention", "all-reduce", "lm_head", "gaps"):
        assert new.ms(name) == pytest.approx(old.ms(name))
    assert old.step_ms / new.step_ms == pytest.approx(1.55, abs=0.15)


def test_a_scale_over_a_tensor_takes_640_kernels():
    case = _case("quantizers", 1)
    step = case.step()
    assert step.ms("quant") == pytest.approx(640 * case.setup.quant_us / 1e3)


def test_without_a_graph_the_step_lasts_as_long_as_the_host_launches():
    for seed in range(5):
        case = _case("eager", seed)
        assert case.step().step_ms > host_ms(case.setup, 80)


def test_a_fuller_step_takes_as_long_and_gives_more_tokens():
    for seed in range(5):
        case = _case("fuller", seed)
        old = decode_step(BF16, batch=case.usual_batch, context_tokens=CONTEXT).step_ms
        assert case.batch / case.step().step_ms > 3 * case.usual_batch / old
        assert case.beyond == "none"


def test_each_class_is_called_out_in_one_world():
    worlds = ("quantizers", "eager", "attention", "widened", "fuller")
    for seed in range(5):
        assert len({observe(world, seed).values["beyond"] for world in worlds}) == len(worlds)
