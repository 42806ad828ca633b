from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from courseware.own_words import shared_runs, texts_in, words_of

THEIRS = "Whoever copies nine words in a row from here has not written them, says this line."


@pytest.fixture
def theirs(tmp_path):
    folder = tmp_path / "theirs"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "one.txt").write_text(f"A title\n\n{THEIRS}\n")
    (folder / "picture.png").write_bytes(THEIRS.encode())
    return folder


def compared(tmp_path, theirs, text, run=9):
    ours = tmp_path / "ours.md"
    ours.write_text(text)
    return [
        (each.line, each.words, each.other.name, each.other_line)
        for each in shared_runs([ours], texts_in(theirs), run)
    ]


def test_nine_words_in_a_row_are_found_once_with_both_lines_whatever_case_and_breaks(
    tmp_path, theirs
):
    text = "Ours.\n\nThen: copies NINE words,\nin a row from here has not written them! And on it goes."
    (found,) = compared(tmp_path, theirs, text)
    assert found == (
        3, "copies nine words in a row from here has not written them", "one.txt", 3,
    )  # fmt: skip


def test_eight_words_are_no_run(tmp_path, theirs):
    text = "copies nine words in a row from here is eight of them"
    assert compared(tmp_path, theirs, text) == []
    assert len(compared(tmp_path, theirs, text, run=8)) == 1


@pytest.mark.parametrize(
    "code",
    [
        f"`{THEIRS}`",
        f"```\n{THEIRS}\n```",
        f'<p title="{THEIRS}">x</p>',
        f"{{# {THEIRS} #}}",
    ],
)
def test_code_does_not_count(tmp_path, theirs, code):
    assert compared(tmp_path, theirs, f"Before.\n\n{code}\n\nAfter.\n") == []


def test_a_run_goes_on_behind_an_identifier_a_flag_or_a_metric(tmp_path, theirs):
    text = "copies nine words in `num_gpu_blocks` a --max-num-seqs row vllm:num_preemptions_total from here has"
    (found,) = compared(tmp_path, theirs, text)
    assert found[1] == "copies nine words in a row from here has"


def test_words_are_those_of_a_reader():
    line = "The pool's 35 GiB, at 94 %: don’t use vllm:kv_cache_usage_perc, /metrics or getData()"
    assert [word for word, _ in words_of(line)] == [
        "the", "pool's", "35", "gib", "at", "94", "don't", "use", "or",
    ]  # fmt: skip


def test_the_command_prints_file_and_line_and_fails(tmp_path, theirs):
    ours, said = tmp_path / "ours.md", StringIO()
    ours.write_text(f"One.\n{THEIRS}\n")
    with pytest.raises(SystemExit):
        call_command("own_words", theirs, ours, stdout=said)
    first, last = said.getvalue().splitlines()
    assert first.startswith(f"{ours}:2: whoever copies nine words")
    assert first.endswith("one.txt:3]")
    assert last == "1 files, 1 runs of 9 words or more in common."
    ours.write_text("One.\n")
    call_command("own_words", theirs, ours, stdout=said)


def test_the_command_says_what_is_missing(tmp_path, theirs):
    with pytest.raises(CommandError, match="there is no such folder or file"):
        call_command("own_words", tmp_path / "nowhere")
    with pytest.raises(CommandError, match="--words 1: a run has two words or more"):
        call_command("own_words", theirs, words=1)


def test_all_that_people_read_is_compared(theirs):
    said = StringIO()
    call_command("own_words", theirs, stdout=said)
    count = int(said.getvalue().split()[0])
    assert count > 150
