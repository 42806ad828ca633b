"""The boundary: what a request's body may be wrong in, and what a gateway makes of it and of the engine's answer.

The engine's answers are vLLM's, see ``http_answers``. The gateway is ours, and its words are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from labs.simulator.http_answers import (
    BAD_REQUEST,
    NOT_FOUND,
    OK,
    SERVER_ERROR,
    HttpAnswer,
    Probe,
    engine_answer,
    wire,
)
from labs.simulator.request import Request, Status

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.config import EngineConfig

CLIENT_LEFT = 499
"""nginx's word for a client that closed the connection before it had an answer."""

DEFECTS = (
    "unknown_model", "unknown_role", "missing_role", "empty_messages", "context_length", "prompt_too_long",
    "max_tokens_too_large", "max_tokens_zero", "bad_json",
)  # fmt: skip
"""What can be wrong with a body. ``context_length``: prompt and max_tokens together exceed the context."""

type Check = Literal["model", "role", "messages", "context_length", "max_tokens", "json"]
ALL_CHECKS: tuple[Check, ...] = (
    "json", "messages", "role", "model", "max_tokens", "context_length",
)  # fmt: skip
KNOWN_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


@dataclass(slots=True, frozen=True)
class Gateway:
    """What stands before the router: what it checks, and what it makes of a refusal by the engine."""

    checks: tuple[Check, ...] = ()
    model: str = "llama-70b"
    """Name under which the model is served."""
    max_model_len: int | None = None
    """The context that it believes the model to have; None: the engine's."""
    wraps_refusals: bool = False
    """True: whatever the engine refuses becomes a 500, as where a client library's exception is not caught."""
    tokenizer_crashes: bool = False
    """True: it counts tokens by itself, and fails on a message without a role and on no message at all."""


def answer(
    gateway: Gateway,
    config: EngineConfig,
    probe: Probe,
    *,
    queued: int = 0,
    shutting_down: bool = False,
    created_s: int = 0,
) -> HttpAnswer:
    """Return what a client gets for ``probe`` through ``gateway``: its own refusal, or the engine's, perhaps wrapped."""
    refused = own_answer(gateway, config, probe)
    if refused is not None:
        return refused
    theirs = engine_answer(
        config, probe, model=gateway.model, queued=queued, shutting_down=shutting_down, created_s=created_s
    )  # fmt: skip
    return passed_on(gateway, theirs)


def own_answer(gateway: Gateway, config: EngineConfig, probe: Probe) -> HttpAnswer | None:
    """Return what ``gateway`` answers by itself, before any engine is asked; None if it asks one."""
    refused = _checked(gateway, config, probe)
    if refused is not None:
        return refused
    if gateway.tokenizer_crashes and (not probe.roles or None in probe.roles):
        return _own(SERVER_ERROR, "internal_error", "Internal server error", "tokenizer_crash")
    return None


def passed_on(gateway: Gateway, theirs: HttpAnswer) -> HttpAnswer:
    """Return what becomes of an engine's answer on its way through ``gateway``."""
    if gateway.wraps_refusals and theirs.status != OK:
        return _own(SERVER_ERROR, "internal_error", "Internal server error", theirs.reason)
    return theirs


def _own(status: int, kind: str, message: str, reason: str) -> HttpAnswer:
    return HttpAnswer(status, wire({"error": {"type": kind, "message": message}}), reason)


def _checked(gateway: Gateway, config: EngineConfig, probe: Probe) -> HttpAnswer | None:
    """Return the gateway's own refusal, in its own words; None if its checks find nothing."""
    limit = gateway.max_model_len or config.max_model_len
    asked = probe.max_tokens
    bad_role = next((r for r in probe.roles if r is None or r not in KNOWN_ROLES), "")
    wanted = probe.prompt_tokens + (1 if asked is None else max(asked, 1))
    found: dict[Check, tuple[bool, str, str]] = {
        "json": (
            probe.json_error_at is not None,
            f"The body is not JSON from character {probe.json_error_at} on.",
            "bad_json",
        ),
        "messages": (not probe.roles, "messages holds no message.", "empty_messages"),
        "role": (
            bad_role != "",
            "A message has no role." if bad_role is None else f"No role is called {bad_role!r}.",
            "missing_role" if bad_role is None else "unknown_role",
        ),
        "model": (
            probe.model is not None and probe.model != gateway.model,
            f"No model is called {probe.model!r}; there is {gateway.model!r}.",
            "unknown_model",
        ),
        "max_tokens": (asked is not None and asked < 1, "max_tokens must be at least 1.", "max_tokens_zero"),
        "context_length": (
            wanted > limit,
            (
                f"{probe.prompt_tokens} prompt tokens and {asked} max_tokens are {wanted} tokens; "
                f"the context holds {limit}."
            ),
            "context_length",
        ),
    }  # fmt: skip
    for check in ALL_CHECKS:
        applies, message, reason = found[check]
        if applies and check in gateway.checks:
            status = NOT_FOUND if check == "model" else BAD_REQUEST
            return _own(status, "invalid_request", message, reason)
    return None


def spoil(request: Request, max_model_len: int) -> None:
    """Give ``request`` the lengths that its defect is about."""
    if request.defect == "context_length":
        request.prompt_tokens = max(
            request.prompt_tokens, max_model_len - max(1, request.max_tokens // 2)
        )
    elif request.defect == "prompt_too_long":
        request.prompt_tokens = max_model_len + request.prompt_tokens
    elif request.defect == "max_tokens_too_large":
        request.max_tokens += max_model_len


def probe_of(request: Request, model: str) -> Probe:
    """Return the body of ``request``, its defect in it."""
    defect = request.defect
    roles: tuple[str | None, ...] = ("user",)
    if defect in ("unknown_role", "missing_role"):
        roles = ("wizard" if defect == "unknown_role" else None,)
    return Probe(
        model="gpt-4" if defect == "unknown_model" else model,
        roles=() if defect == "empty_messages" else roles,
        prompt_tokens=request.prompt_tokens,
        max_tokens=0 if defect == "max_tokens_zero" else request.max_tokens,
        json_error_at=37 if defect == "bad_json" else None,
    )


def refusal(
    gateway: Gateway, config: EngineConfig, request: Request, *, only_own: bool = False
) -> tuple[int, str] | None:
    """Return (status, reason) if ``request`` is refused for what it is; None if it goes on to an engine.

    ``only_own``: by the gateway itself; what the engine would say, a real one says.
    """
    is_long = request.prompt_tokens + request.max_tokens > config.max_model_len
    if not request.defect and not (gateway.checks and is_long):
        return None
    spoil(request, config.max_model_len)
    probe = probe_of(request, gateway.model)
    found = own_answer(gateway, config, probe) if only_own else answer(gateway, config, probe)
    return None if found is None or found.status == OK else (found.status, found.reason)


def is_clamped(request: Request) -> bool:
    """Say whether the engine ended ``request`` at the end of the context, short of what it asked for."""
    return request.status is Status.FINISHED and request.num_output_tokens < request.max_tokens


def status_counts(
    requests: Iterable[Request], *, from_s: float, to_s: float, now_s: float
) -> dict[tuple[int, str], int]:
    """Return (HTTP status, reason) -> how many of the requests sent in ``[from_s, to_s)`` were answered so by ``now_s``.

    A stream is answered with its first token. 200 has the reasons ``ok``, ``clamped`` (fewer tokens than asked,
    finish_reason length) and ``cancelled`` (by its user, midway); 499, in nginx's word, is a client that gave up:
    ``client_timeout``. What still waits, or hangs, is in no count.
    """
    counts: Counter[tuple[int, str]] = Counter()
    for request in requests:
        if not from_s <= request.sent_s < to_s:
            continue
        finish_s, left_ps = request.finish_s, request.client_left_ps
        if left_ps is not None and left_ps <= now_s * 1e12:
            counts[CLIENT_LEFT, "client_timeout"] += 1
        elif finish_s is None or finish_s > now_s:
            first_s = request.first_token_s
            if first_s is not None and first_s <= now_s:
                counts[OK, "ok"] += 1
        elif request.refusal:
            counts[request.http_status, request.refusal] += 1
        elif request.is_cancelled:
            counts[OK, "cancelled"] += 1
        elif request.finish_reason == "error":
            counts[SERVER_ERROR, "engine_error"] += 1
        else:
            counts[OK, "clamped" if is_clamped(request) else "ok"] += 1
    return dict(counts)


@dataclass(slots=True, frozen=True)
class GatewayChange:
    """Another gateway, or other checks, from now on."""

    gateway: Gateway

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Put it before the router."""
        del at_s
        cluster.front.gateway = self.gateway
