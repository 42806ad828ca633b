"""What vLLM 0.32.0's OpenAI server answers to one chat request.

As captured: status, type, parameter and message, with the request's own figures in them. A prompt and
``max_tokens`` that exceed the context together, each of them allowed, get 200 and fewer tokens than asked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.simulator.config import EngineConfig

OK, BAD_REQUEST, NOT_FOUND, SERVER_ERROR, UNAVAILABLE = 200, 400, 404, 500, 503

ROLE_FIELDS = (
    "ChatCompletionDeveloperMessageParam.role", "ChatCompletionSystemMessageParam.role",
    "ChatCompletionUserMessageParam.role", "ChatCompletionAssistantMessageParam.role",
    "ChatCompletionToolMessageParam.role", "ChatCompletionToolMessageParam.tool_call_id",
    "ChatCompletionFunctionMessageParam.name", "ChatCompletionFunctionMessageParam.role",
    "CustomChatCompletionMessageParam.role", "Message.author",
)  # fmt: skip
"""The fields that vLLM 0.32.0 misses, in its order, when a message has no role; one more is only counted."""


@dataclass(slots=True, frozen=True)
class Probe:
    """The facts of one chat request's body."""

    model: str | None = None
    """None: not named, which the engine takes for its own."""
    roles: tuple[str | None, ...] = ("user",)
    """Of each message; None: the message has no role."""
    prompt_tokens: int = 10
    """After the chat template."""
    max_tokens: int | None = 16
    """None: up to the end of the context."""
    answer_tokens: int = 1_000_000
    """After how many the model would end by itself."""
    json_error_at: int | None = None
    """Character at which the body stops being JSON; None: it is JSON."""


@dataclass(slots=True, frozen=True)
class HttpAnswer:
    """An HTTP answer."""

    status: int
    body: str
    """JSON, as it stands on the wire."""
    reason: str
    """Why, in one word of ours; ``ok`` if all is well."""


def wire(body: object) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _error(status: int, kind: str, message: str, param: str | None, reason: str) -> HttpAnswer:
    error = {"message": message, "type": kind, "param": param, "code": status}
    return HttpAnswer(status, wire({"error": error}), reason)


def _invalid(fields: list[dict[str, object]], param: str, reason: str, more: int = 0) -> HttpAnswer:
    """Answer as the engine does to a body of the wrong shape."""
    count = len(fields) + more
    lines = [
        f"{count} validation error{'s' if count > 1 else ''}:",
        *(f"  {each}" for each in fields),
    ]
    if more:
        lines.append(f"  ...and {more} more errors")
    return _error(BAD_REQUEST, "Bad Request", "\n".join(lines), param, reason)


def engine_answer(
    config: EngineConfig,
    probe: Probe,
    *,
    model: str,
    queued: int = 0,
    shutting_down: bool = False,
    created_s: int = 0,
) -> HttpAnswer:
    """Return what the engine's server answers to ``probe``; ``queued`` requests wait for it now.

    ``created_s`` is the wall clock of the answer. Source: vLLM 0.32.0, 47 captured cases, and the captures of its
    queue limit and shutdown. When several things are wrong the order is ours but for the shape, which comes first.
    """
    if probe.json_error_at is not None:
        where = f"body.{probe.json_error_at}"
        field: dict[str, object] = {
            "type": "json_invalid", "loc": where, "msg": "JSON decode error", "input": "<dict of 0 items>",
            "ctx": {"error": "Expecting value"},
        }  # fmt: skip
        return _invalid([field], where, "bad_json")
    for place, role in enumerate(probe.roles):
        if role is None:
            names = [f"body.messages.{place}.{each}" for each in ROLE_FIELDS]
            fields: list[dict[str, object]] = [
                {
                    "type": "missing",
                    "loc": name,
                    "msg": "Field required",
                    "input": "<dict of 1 items>",
                }
                for name in names
            ]
            return _invalid(fields, names[0], "missing_role", more=1)
    if probe.model is not None and probe.model != model:
        message = f"The model `{probe.model}` does not exist. Valid aliases: {model}."
        return _error(NOT_FOUND, "NotFoundError", message, "model", "unknown_model")
    return _lengths(config, probe) or _admission(
        config, probe, model, queued=queued, shutting_down=shutting_down, created_s=created_s
    )


def _refused(message: str, param: str | None, value: int | None, reason: str) -> HttpAnswer:
    if param is not None:
        message += f" (parameter={param}, value={value})"
    return _error(BAD_REQUEST, "BadRequestError", message, param, reason)


def _lengths(config: EngineConfig, probe: Probe) -> HttpAnswer | None:
    """Answer to what the context has no room for; None if there is nothing to refuse."""
    limit = config.max_model_len
    if not probe.roles:
        message = (
            "Cannot apply chat template to an empty conversation. Provide at least one message."
        )
        return _refused(message, None, None, "empty_messages")
    if probe.prompt_tokens > limit:
        message = (
            f"This model's maximum context length is {limit} tokens. However, your prompt contains at least "
            f"{limit + 1} input tokens, which exceeds this limit even without any output tokens. Please reduce the "
            "length of the input prompt."
        )
        return _refused(message, "input_tokens", limit + 1, "prompt_too_long")
    asked = probe.max_tokens
    if asked is not None and asked > limit:
        message = (
            f"max_tokens={asked} cannot be greater than max_model_len={limit}. "
            "Please request fewer output tokens."
        )
        return _refused(message, "max_tokens", asked, "max_tokens_too_large")
    granted = (
        limit - probe.prompt_tokens if asked is None else min(asked, limit - probe.prompt_tokens)
    )
    if granted < 1:
        # A prompt that fills the context exactly is told so as well.
        message = f"max_tokens must be at least 1, got {granted}."
        reason = "max_tokens_zero" if asked is not None and asked < 1 else "prompt_too_long"
        return _refused(message, "max_tokens", granted, reason)
    return None


def _admission(
    config: EngineConfig,
    probe: Probe,
    model: str,
    *,
    queued: int,
    shutting_down: bool,
    created_s: int,
) -> HttpAnswer:
    if shutting_down:
        message = "cannot schedule new futures after shutdown"
        return _error(SERVER_ERROR, "InternalServerError", message, None, "shutting_down")
    if config.max_num_queued_reqs is not None and queued >= config.max_num_queued_reqs:
        message = (
            "The engine is currently busy and cannot accept new requests. "
            "Please try again later or on a different instance."
        )
        return _error(UNAVAILABLE, "Service Unavailable", message, None, "queue_full")
    room = config.max_model_len - probe.prompt_tokens
    granted = room if probe.max_tokens is None else min(probe.max_tokens, room)
    tokens = min(granted, probe.answer_tokens)
    clamped = probe.max_tokens is not None and tokens == room < probe.max_tokens
    said = {
        "role": "assistant", "content": "...", "refusal": None, "annotations": None, "audio": None,
        "function_call": None, "reasoning": None,
    }  # fmt: skip
    choice = {
        "index": 0, "message": said, "logprobs": None,
        "finish_reason": "length" if tokens == granted else "stop",
        "stop_reason": None, "token_ids": None, "routed_experts": None,
    }  # fmt: skip
    usage = {
        "prompt_tokens": probe.prompt_tokens, "total_tokens": probe.prompt_tokens + tokens,
        "completion_tokens": tokens, "prompt_tokens_details": None, "completion_tokens_details": None,
    }  # fmt: skip
    body = {
        "id": f"chatcmpl-{created_s:016x}", "object": "chat.completion", "created": created_s, "model": model,
        "choices": [choice], "service_tier": None, "system_fingerprint": "vllm-0.32.0", "usage": usage,
        "prompt_logprobs": None, "prompt_token_ids": None, "prompt_text": None, "kv_transfer_params": None,
        "ec_transfer_params": None, "metrics": None,
    }  # fmt: skip
    return HttpAnswer(OK, wire(body), "clamped" if clamped else "ok")
