import json
from dataclasses import replace

import pytest

from labs.simulator.gateway import (
    ALL_CHECKS,
    DEFECTS,
    Gateway,
    GatewayChange,
    answer,
    is_clamped,
    refusal,
    status_counts,
)
from labs.simulator.http_answers import Probe, engine_answer
from labs.simulator.metrics import share_meeting_limits
from labs.simulator.request import Request
from labs.simulator.scheduler import EngineConfig
from tests.simulator.reacting import SHORT, world

CONFIG = EngineConfig(num_gpu_blocks=65, max_model_len=1024)
PLAIN = Probe(prompt_tokens=10, max_tokens=8)

# What vLLM 0.32.0 answered, word for word: (probe, status, type, param, message).
CAPTURED = [
    (
        replace(PLAIN, model="gpt-4"), 404, "NotFoundError", "model",
        "The model `gpt-4` does not exist. Valid aliases: tiny-llama.",
    ),
    (
        replace(PLAIN, roles=()), 400, "BadRequestError", None,
        "Cannot apply chat template to an empty conversation. Provide at least one message.",
    ),
    (
        replace(PLAIN, max_tokens=5000), 400, "BadRequestError", "max_tokens",
        ("max_tokens=5000 cannot be greater than max_model_len=1024. Please request fewer output tokens. "
        "(parameter=max_tokens, value=5000)"),
    ),
    (
        replace(PLAIN, prompt_tokens=1100), 400, "BadRequestError", "input_tokens",
        ("This model's maximum context length is 1024 tokens. However, your prompt contains at least 1025 input "
        "tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input "
        "prompt. (parameter=input_tokens, value=1025)"),
    ),
    (
        replace(PLAIN, prompt_tokens=1024), 400, "BadRequestError", "max_tokens",
        "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)",
    ),
    (
        replace(PLAIN, max_tokens=-1), 400, "BadRequestError", "max_tokens",
        "max_tokens must be at least 1, got -1. (parameter=max_tokens, value=-1)",
    ),
    (
        replace(PLAIN, json_error_at=37), 400, "Bad Request", "body.37",
        ("1 validation error:\n  {'type': 'json_invalid', 'loc': 'body.37', 'msg': 'JSON decode error', "
        "'input': '<dict of 0 items>', 'ctx': {'error': 'Expecting value'}}"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CAPTURED, ids=range(len(CAPTURED)))
def test_the_engine_answers_as_vllm_did(case):
    probe, status, kind, param, message = case
    found = engine_answer(CONFIG, probe, model="tiny-llama")
    assert found.status == status
    error = {"message": message, "type": kind, "param": param, "code": status}
    assert json.loads(found.body) == {"error": error}
    assert found.body.startswith('{"error":{"message":')


def test_a_message_without_a_role_fails_in_eleven_ways():
    found = engine_answer(CONFIG, replace(PLAIN, roles=("user", None)), model="tiny-llama")
    error = json.loads(found.body)["error"]
    lines = error["message"].split("\n")
    assert lines[0] == "11 validation errors:"
    assert lines[1].startswith("  {'type': 'missing', 'loc': 'body.messages.1.ChatCompletionDev")
    assert lines[-1] == "  ...and 1 more errors"
    assert (error["type"], error["param"][:16]) == ("Bad Request", "body.messages.1.")


@pytest.mark.parametrize(
    "probe", [PLAIN, replace(PLAIN, roles=("wizard",)), replace(PLAIN, model=None, max_tokens=None)]
)
def test_the_engine_takes_an_unknown_role_and_no_model_at_all(probe):
    assert engine_answer(CONFIG, probe, model="tiny-llama").status == 200


def test_the_engine_clamps_in_silence():
    # Captured: prompt 1,000 and max_tokens 500 in a context of 1,024 gave 24 tokens and 200.
    found = engine_answer(CONFIG, Probe(prompt_tokens=1000, max_tokens=500), model="tiny-llama")
    body = json.loads(found.body)
    assert (found.status, found.reason) == (200, "clamped")
    assert body["usage"]["completion_tokens"] == 24
    assert body["usage"]["total_tokens"] == 1024
    assert body["choices"][0]["finish_reason"] == "length"


def test_the_queue_limit_and_the_shutdown_have_answers_of_their_own():
    limited = replace(CONFIG, max_num_queued_reqs=6)
    assert engine_answer(limited, PLAIN, model="m", queued=5).status == 200
    full = engine_answer(limited, PLAIN, model="m", queued=6)
    assert json.loads(full.body)["error"]["type"] == "Service Unavailable"
    assert full.status == 503
    stopping = json.loads(engine_answer(CONFIG, PLAIN, model="m", shutting_down=True).body)["error"]
    assert stopping == {
        "message": "cannot schedule new futures after shutdown", "type": "InternalServerError",
        "param": None, "code": 500,
    }  # fmt: skip


def test_a_gateway_that_counts_refuses_with_all_three_counts():
    gateway = Gateway(checks=("context_length",))
    found = answer(gateway, CONFIG, Probe(prompt_tokens=1000, max_tokens=500))
    assert found.status == 400
    message = json.loads(found.body)["error"]["message"]
    assert all(count in message for count in ("1000", "500", "1500", "1024"))


def test_a_gateway_may_believe_in_another_context_than_the_engine():
    gateway = Gateway(checks=("context_length",), max_model_len=512)
    assert answer(gateway, CONFIG, Probe(prompt_tokens=500, max_tokens=20)).status == 400


def test_a_gateway_that_wraps_makes_500_of_a_400():
    wraps = Gateway(wraps_refusals=True)
    for probe, *_ in CAPTURED:
        assert answer(wraps, CONFIG, probe).status == 500
    assert (
        answer(Gateway(checks=ALL_CHECKS, wraps_refusals=True), CONFIG, CAPTURED[1][0]).status
        == 400
    )


def test_a_gateway_s_own_tokenizer_crashes_where_the_engine_would_have_said_400():
    crashes = Gateway(tokenizer_crashes=True)
    found = answer(crashes, CONFIG, replace(PLAIN, roles=(None,)))
    assert (found.status, found.reason) == (500, "tokenizer_crash")


def spoiled(share, **fields):
    defects = tuple((name, share / len(DEFECTS)) for name in DEFECTS)
    return world(
        3.0, classes=(replace(SHORT, defects=defects),), config={"max_model_len": 4096}, **fields
    )


def test_defects_come_by_their_share_and_get_their_answers():
    served = spoiled(0.5)
    served.advance(400.0)
    counts = status_counts(served.requests, from_s=0.0, to_s=300.0, now_s=400.0)
    total = sum(counts.values())
    bad = sum(n for (status, reason), n in counts.items() if status >= 400 or reason == "clamped")
    # All but the unknown role, which the engine takes.
    assert bad / total == pytest.approx(0.5 * 8 / 9, abs=0.05)
    assert {status for status, _ in counts} == {200, 400, 404}
    clamped = [r for r in served.requests if is_clamped(r)]
    assert clamped
    assert all(r.finish_reason == "length" and r.defect == "context_length" for r in clamped)


def test_a_gateway_that_wraps_shows_in_the_5xx_until_it_checks():
    served = spoiled(0.3, gateway=Gateway(wraps_refusals=True))
    served.schedule(150.0, GatewayChange(Gateway(checks=ALL_CHECKS, wraps_refusals=True)))
    served.advance(400.0)
    before = status_counts(served.requests, from_s=0.0, to_s=150.0, now_s=400.0)
    after = status_counts(served.requests, from_s=150.0, to_s=300.0, now_s=400.0)
    assert sum(n for (status, _), n in before.items() if status == 500) > 30
    assert not any(status >= 500 for status, _ in after)
    assert (200, "clamped") in before
    assert (200, "clamped") not in after


def test_what_was_wrong_in_itself_counts_neither_as_met_nor_as_missed():
    served = spoiled(0.3)
    served.advance(300.0)
    share = share_meeting_limits(
        served.requests, from_s=0.0, to_s=200.0, now_s=300.0, ttft_limit_s=30.0, gap_limit_s=30.0
    )
    assert share == 1.0


def test_defects_leave_the_other_requests_as_they_were():
    plain, wrong = spoiled(0.0), spoiled(0.4)
    for one in (plain, wrong):
        one.advance(100.0)
    for a, b in zip(plain.requests, wrong.requests, strict=True):
        assert a.sent_s == b.sent_s
        assert b.defect or (a.prompt_tokens, a.max_tokens) == (b.prompt_tokens, b.max_tokens)


def test_a_full_queue_answers_503_and_the_rest_is_served():
    served = world(6.0, config={"max_num_seqs": 8, "max_num_queued_reqs": 5})
    served.advance(120.0)
    counts = status_counts(served.requests, from_s=0.0, to_s=100.0, now_s=120.0)
    assert counts[503, "queue_full"] > 100
    assert max(s.waiting for s in served.engines[0].samples) <= 5


@pytest.mark.parametrize(
    ("gateway", "told"),
    [
        (Gateway(), None),
        (Gateway(wraps_refusals=True), None),
        (Gateway(checks=("role",)), (400, "missing_role")),
        (Gateway(tokenizer_crashes=True), (500, "tokenizer_crash")),
    ],
)
def test_before_a_real_engine_a_gateway_says_only_what_it_says_itself(gateway, told):
    wrong = Request("r1", 0.0, 64, 8, defect="missing_role")
    assert refusal(gateway, CONFIG, wrong, only_own=True) == told
