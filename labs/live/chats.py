"""Requests as conversations: a tenant's text and what its user says, written out by the model's own chat template.

What the engine gets has exactly the tokens that the world drew. Under the steady template the tenant's part of the prompt
is as long as the request's shared text; where a world's deploy has put a clock in front of everything, the gateway sends
that template along (``--trust-request-chat-template``), and the user says as much less as the clock takes.
"""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING, Any

from labs.live.build_model import MODELS, words
from labs.live.streams import asked

if TYPE_CHECKING:
    from labs.simulator.http_answers import Probe
    from labs.simulator.request import Request

STEADY, CLOCK = "steady", "clock-in-front"
IN_FRONT, BETWEEN, BEHIND = 2, 2, 2
"""Marks of the steady template: before the tenant's text, between it and what the user says, and after that."""
CLOCK_TOKENS = 30
"""A mark, `` now``, a moment of 27 bytes, and a mark."""
CHAT = "/v1/chat/completions"


@cache
def template(name: str) -> str:
    """Return the text of one of the models' chat templates."""
    return (MODELS / "templates" / f"{name}.jinja").read_text(encoding="utf-8")


def text(name: str, tokens: int) -> str:
    """Return a text of so many tokens that follows from a name alone."""
    drawn = random.Random(f"text:{name}").choices(words(), k=tokens)
    return "".join(f" {word}" for word in drawn)


def _wrong_in(defect: str, said: str) -> dict[str, Any]:
    """Return what is different in a body whose client has made this mistake; mistakes of length are in the lengths."""
    match defect:
        case "missing_role":
            return {"messages": [{"content": said}]}
        case "unknown_role":
            return {"messages": [{"role": "wizard", "content": said}]}
        case "empty_messages":
            return {"messages": []}
        case "unknown_model":
            return {"model": "gpt-4"}
        case "max_tokens_zero":
            return {"max_tokens": 0}
    return {}


def chat_body(request: Request, model: str, template_tokens: int) -> dict[str, Any]:
    """Return the body of a streamed chat completion whose prompt has the request's tokens.

    ``template_tokens`` is how long the part is that a tenant's prompts share while the template is steady. A request that
    shares less than that is rendered by the template with the clock. One without a tenant has no text of one.
    """
    name, shared = request.prefix[-1] if request.prefix else ("", 0)
    has_clock = 0 < shared < template_tokens
    tenant = template_tokens - IN_FRONT - BETWEEN if name else 0
    own = request.prompt_tokens - tenant - IN_FRONT - BETWEEN - BEHIND
    said = text(request.request_id, max(1, own - CLOCK_TOKENS * has_clock))
    had = text(f"outputs:{request.request_id}", request.num_output_tokens)
    body = {
        "messages": [
            {"role": "system", "content": text(name, tenant)},
            {"role": "user", "content": said + had},
        ],
        **asked(request, model),
        **_wrong_in(request.defect, said),
    }
    if has_clock:
        body["chat_template"] = template(CLOCK)
    return body


def probe_body(asked: Probe, model: str) -> dict[str, Any]:
    """Return the body of a request of one's own, not streamed, with what is wrong in it."""
    own = max(1, asked.prompt_tokens - IN_FRONT - BEHIND)
    said = text("probe", own)
    turns = [
        {"content": said} if role is None else {"role": role, "content": said}
        for role in asked.roles
    ]
    return {
        "model": model,
        "messages": turns,
        "max_tokens": asked.max_tokens,
        "ignore_eos": True,
        "temperature": 0,
    }
