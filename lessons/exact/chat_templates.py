"""Three chat templates, and prompts with a long shared beginning: where a deploy can put what changes from day to day.

The templates have the forms that models are trained with (ChatML, headers, instruction brackets); their special
tokens are single ids in ``lessons.exact.tokens``. The texts are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lessons.exact.tokens import encoder

if TYPE_CHECKING:
    from collections.abc import Sequence

type Role = Literal["system", "user", "assistant"]
type TemplateName = Literal["chatml", "headers", "brackets"]
TEMPLATES: tuple[TemplateName, ...] = ("chatml", "headers", "brackets")


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True)
class Options:
    """What a deploy can change of a template without changing any message."""

    date: str = ""
    """Put in front of the system text; empty: none."""
    late_date: str = ""
    """Put in front of the last user's text instead."""
    request_id: str = ""
    """Put in front of the system text; another one for each request."""
    tools: tuple[str, ...] = ()
    """Listed behind the system text, in this order."""
    begin_tokens: int = 1
    """Begin-of-text tokens: 2 if both the template and the tokenizer add one, 0 if neither does."""
    generation_prompt: bool = True
    """Ends with the opening of the assistant's turn."""
    trailing_blank: bool = False
    """A blank behind the system text: one more character."""


def render(
    template: TemplateName, messages: Sequence[Message], options: Options | None = None
) -> str:
    """Return the prompt that a template makes of ``messages``. Raises ValueError for no messages."""
    if not messages:
        raise ValueError("a template needs a message")
    chosen = options or Options()
    turns = _filled(messages, chosen)
    begin = "<|begin|>" * chosen.begin_tokens
    match template:
        case "chatml":
            text = "".join(f"<|im_start|>{turn.role}\n{turn.content}<|im_end|>\n" for turn in turns)
            return begin + text + ("<|im_start|>assistant\n" if chosen.generation_prompt else "")
        case "headers":
            text = "".join(f"<|start|>{turn.role}\n\n{turn.content}<|end|>" for turn in turns)
            return begin + text + ("<|start|>assistant\n\n" if chosen.generation_prompt else "")
        case "brackets":
            return begin + _bracketed(turns)


def _filled(messages: Sequence[Message], chosen: Options) -> list[Message]:
    """Return the messages with what the options put into them."""
    turns = list(messages)
    head = f"Request {chosen.request_id}. " if chosen.request_id else ""
    head += f"Today is {chosen.date}. " if chosen.date else ""
    tail = " " if chosen.trailing_blank else ""
    tail += "".join(f"\n- {tool}" for tool in chosen.tools)
    for place, turn in enumerate(turns):
        if turn.role == "system":
            turns[place] = Message("system", head + turn.content + tail)
    if chosen.late_date:
        last = max(place for place, turn in enumerate(turns) if turn.role == "user")
        turns[last] = Message("user", f"Today is {chosen.late_date}. {turns[last].content}")
    return turns


def _bracketed(turns: Sequence[Message]) -> str:
    """Return turns in brackets; the system's text stands in the next user's, and the last bracket opens the answer."""
    text = system = ""
    for turn in turns:
        if turn.role == "system":
            system = f"{turn.content}\n\n"
        elif turn.role == "user":
            text += f"[INST] {system}{turn.content} [/INST]"
            system = ""
        else:
            text += f" {turn.content}"
    return text


def tokenize(
    template: TemplateName, messages: Sequence[Message], options: Options | None = None
) -> tuple[int, ...]:
    """Return the ids of a rendered prompt, as ``POST /tokenize`` would."""
    return encoder().encode(render(template, messages, options))


_TOPICS = (
    "an order", "a return", "an invoice", "a delivery", "a refund", "a broken part", "a voucher", "an address",
    "a missing parcel", "a size", "a colour", "a warranty",
)  # fmt: skip
_DEEDS = (
    "ask for the order number before you answer", "read the document about it and tell the last day",
    "say what happened and what comes next", "open a ticket and give its number", "hand the conversation to the desk",
    "answer in one sentence and ask whether more is needed", "do not promise anything that the table does not say",
)  # fmt: skip


def system_text(least_tokens: int) -> str:
    """Return rules of a shop's assistant, as many as make at least ``least_tokens`` tokens. Takes 0.02 s for 3,000."""
    rules = ["You are the assistant of a shop. Answer from the documents."]
    held = len(encoder().encode(rules[0]))
    while held < least_tokens:
        number = len(rules)
        topic, deed = _TOPICS[number % len(_TOPICS)], _DEEDS[number % len(_DEEDS)]
        rule = f"\nRule {number}: when a customer asks about {topic}, {deed}."
        held += len(encoder().encode(rule))
        rules.append(rule)
    return "".join(rules)


def conversation(system_tokens: int, question: str) -> tuple[Message, ...]:
    """Return a system text of at least ``system_tokens`` tokens, and a question."""
    return Message("system", system_text(system_tokens)), Message("user", question)
