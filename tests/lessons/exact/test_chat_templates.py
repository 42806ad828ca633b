from dataclasses import replace

import pytest

from lessons.exact.chat_templates import (
    TEMPLATES,
    Message,
    Options,
    conversation,
    render,
    system_text,
    tokenize,
)
from lessons.exact.tokens import encoder, first_difference, hit

ASKED = conversation(600, "Where is my order 4711?")
PLAIN = Options()


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_date_in_front_leaves_a_block_or_none_and_a_late_one_leaves_the_system_text(template):
    days = ("2026-11-29", "2026-11-30")
    early = [tokenize(template, ASKED, Options(date=day)) for day in days]
    late = [tokenize(template, ASKED, Options(late_date=day)) for day in days]
    assert first_difference(*early) < 32
    assert hit(*early).cached_tokens <= 16
    assert first_difference(*late) > 600
    assert hit(*late).cached_tokens >= 592


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize(
    "change",
    [{"request_id": "4f81"}, {"begin_tokens": 2}, {"begin_tokens": 0}, {"date": "2026-11-30"}],
)
def test_a_change_at_the_front_is_seen_at_the_front(template, change):
    one, other = (tokenize(template, ASKED, o) for o in (PLAIN, replace(PLAIN, **change)))
    assert first_difference(one, other) < 16
    assert hit(one, other).cached_tokens == 0


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_order_of_tools_matters_from_the_first_tool_that_moved(template):
    tools = ("search_orders", "read_document", "open_ticket")
    one = tokenize(template, ASKED, Options(tools=tools))
    other = tokenize(template, ASKED, Options(tools=(tools[0], tools[2], tools[1])))
    place = first_difference(one, other)
    assert 600 < place < len(one)
    assert encoder().decode(one[:place]).endswith(("search_orders\n-", "search_orders\n- "))


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_blank_behind_the_system_text_is_a_difference_behind_it(template):
    one, other = (
        tokenize(template, ASKED, Options(trailing_blank=blank)) for blank in (False, True)
    )
    assert first_difference(one, other) > 590


@pytest.mark.parametrize("template", ["chatml", "headers"])
def test_without_a_generation_prompt_the_answer_has_no_opening(template):
    one, other = (render(template, ASKED, Options(generation_prompt=g)) for g in (True, False))
    assert one.startswith(other)
    assert "assistant" in one[len(other) :]


def test_each_template_puts_the_same_turns_into_its_own_form():
    turns = (
        Message("system", "S"),
        Message("user", "U"),
        Message("assistant", "A"),
        Message("user", "V"),
    )
    assert render("chatml", turns) == (
        "<|begin|><|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n"
        "<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n"
    )
    assert render("headers", turns) == (
        "<|begin|><|start|>system\n\nS<|end|><|start|>user\n\nU<|end|>"
        "<|start|>assistant\n\nA<|end|><|start|>user\n\nV<|end|><|start|>assistant\n\n"
    )
    assert render("brackets", turns) == "<|begin|>[INST] S\n\nU [/INST] A[INST] V [/INST]"


def test_a_next_turn_finds_all_of_the_turns_before():
    longer = (*ASKED, Message("assistant", "On its way."), Message("user", "When?"))
    one, other = tokenize("chatml", ASKED), tokenize("chatml", longer)
    assert hit(one, other).cached_tokens == len(one) // 16 * 16


@pytest.mark.parametrize("least", [10, 100, 3_000])
def test_a_system_text_has_as_many_tokens_as_asked_and_hardly_more(least):
    assert least <= len(encoder().encode(system_text(least))) < least + 50


def test_a_template_of_nothing_is_refused():
    with pytest.raises(ValueError, match="message"):
        render("chatml", ())
