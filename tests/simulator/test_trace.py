import gzip
import json
from pathlib import Path

import pytest
from django.core.management import call_command

from labs.simulator.trace import TraceError, replay

GOLDEN = Path(__file__).parents[1] / "golden" / "vllm-0.32.0"
RECORDINGS = sorted(GOLDEN.glob("*.json.gz"))
SMALL = GOLDEN / "e_prefix_identical64.json.gz"


def data():
    return json.loads(gzip.decompress(SMALL.read_bytes()))


def written(tmp_path, content):
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(content))
    return path


def change(content, keys, value):
    """Set (or, with ``...``, remove) what lies under ``keys``."""
    *path, last = keys
    for key in path:
        content = content[key]
    if value is ...:
        del content[last]
    else:
        content[last] = value


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.split(".")[0])
def test_our_scheduler_decides_as_vllm_s_did(path):
    result = replay(path)
    assert result.difference is None
    assert result.name == path.name.split(".")[0]


def test_there_are_fifteen_recordings_and_6638_steps():
    assert len(RECORDINGS) == 15
    assert sum(replay(path).steps for path in RECORDINGS) == 6638


@pytest.mark.parametrize("field", sorted(data()["steps"][0]))
def test_a_difference_in_any_field_of_a_step_is_found_and_named(tmp_path, field):
    content = data()
    theirs = content["steps"][3][field]
    if isinstance(theirs, list):
        content["steps"][3][field] = [*theirs, "r005"]
    elif isinstance(theirs, dict):
        content["steps"][3][field] = theirs | {"r005": 1}
    elif field == "step":
        for step in content["steps"][3:]:
            step["step"] += 1
    else:
        content["steps"][3][field] = theirs / 2 if field == "usage" else theirs + 1
    difference = replay(written(tmp_path, content)).difference
    assert (difference.step, difference.field) == (3 + (field == "step"), field)
    assert str(difference).startswith(f"step {difference.step}, {field}: ours ")


@pytest.mark.parametrize(
    "field",
    [
        "steps",
        "requests",
        "finished",
        "preemptions",
        "prefix_queries",
        "prefix_hits",
        "min_free",
        "max_waiting",
    ],
)
def test_a_difference_in_the_summary_is_found_and_named(tmp_path, field):
    content = data()
    content["summary"][field] += 1
    difference = replay(written(tmp_path, content)).difference
    assert (difference.step, difference.field) == (None, field)


def test_the_order_of_a_list_counts(tmp_path):
    content = json.loads(gzip.decompress((GOLDEN / "b_pressure.json.gz").read_bytes()))
    content["steps"][40]["waiting"].reverse()
    content["steps"][40]["running"].reverse()
    assert replay(written(tmp_path, content)).difference.field == "running"


def test_a_recording_that_stops_early_is_a_difference(tmp_path):
    content = data()
    del content["steps"][-1]
    assert replay(written(tmp_path, content)).difference.field == "steps"


@pytest.mark.parametrize(
    ("keys", "value", "named"),
    [
        (["config"], ..., "config: missing"),
        (["config", "block_size"], ..., r"config\.block_size: missing"),
        (["config", "block_size"], 0, r"config\.block_size"),
        (["config", "block_size"], "16", r"config\.block_size"),
        (["config", "block_size"], True, r"config\.block_size"),
        (["config", "num_blocks"], 1, r"config\.num_"),
        (["config", "num_blocks"], 10**12, r"config\.num_blocks"),
        (["config", "policy"], "lifo", r"config\.policy"),
        (["config", "watermark"], 1.5, r"config\.watermark"),
        (["config", "watermark"], float("nan"), r"config\.watermark"),
        (["config", "watermark"], 10**400, r"config\."),
        (["config", "prefix_caching"], 1, r"config\.prefix_caching"),
        (["requests"], ..., "requests: missing"),
        (["requests"], {}, "requests: must be a list"),
        (["requests", 2], 7, r"requests\[2\]: must be an object"),
        (["requests", 2, "arrive"], -1, r"requests\[2\]\.arrive"),
        (["requests", 2, "arrive"], 10**400, r"requests\[2\]\.arrive"),
        (["requests", 2, "out"], 0, r"requests\[2\]\.out"),
        (["requests", 2, "id"], "r001", r"requests\[2\]\.id"),
        (["requests", 2, "prompt"], ..., r"requests\[2\]\.prompt: missing"),
        (["requests", 2, "prompt"], [1, 2], r"requests\[2\]\.prompt"),
        (["requests", 2, "prompt", 5], "x", r"requests\[2\]\.prompt"),
        (["steps"], ..., "steps: missing"),
        (["steps", 4, "blocks"], ..., r"steps\[4\]\.blocks: missing"),
        (["steps", 4, "blocks"], [], r"steps\[4\]\.blocks"),
        (["steps", 4, "running"], [3], r"steps\[4\]\.running"),
        (["steps", 4, "usage"], 1.5, r"steps\[4\]\.usage"),
        (["steps", 4, "free_blocks_end"], 65, r"steps\[4\]\.free_blocks_end"),
        (["steps", 4, "step"], 3, "step: 3 does not follow 3"),
        (["summary", "min_free"], ..., r"summary\.min_free: missing"),
        (["workload"], 3, "workload"),
    ],
)
def test_an_unusable_recording_is_refused_in_one_line_by_file_and_key(tmp_path, keys, value, named):
    content = data()
    change(content, keys, value)
    path = written(tmp_path, content)
    with pytest.raises(TraceError, match=named) as caught:
        replay(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("cut.json.gz", SMALL.read_bytes()[:700]),
        ("broken.json.gz", SMALL.read_bytes()[:300] + b"\0\0\0" + SMALL.read_bytes()[303:]),
        ("plain.json.gz", b"{}"),
        ("empty.json.gz", b""),
        ("empty.json", b""),
        ("text.json", b"steps: 3"),
        ("half.json", b'{"workload": "a", "steps": ['),
        ("latin.json", b'{"workload": "\xe9"}'),
        ("deep.json", b"[" * 200_000),
        ("list.json", b"[]"),
        ("digits.json", b"[" + b"1" * 5000 + b"]"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_in_one_line(tmp_path, name, raw):
    path = tmp_path / name
    path.write_bytes(raw)
    with pytest.raises(TraceError) as caught:
        replay(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(TraceError, match="file: "):
            replay(path)


def test_the_command_says_that_all_is_identical(capsys):
    call_command("replay_trace", str(SMALL), str(GOLDEN / "a_ample.json.gz"))
    assert capsys.readouterr().out == (
        "e_prefix_identical64: 14 steps identical\na_ample: 204 steps identical\n"
    )


def test_the_command_exits_1_at_a_difference_and_2_at_an_unusable_file(tmp_path, capsys):
    content = data()
    content["steps"][3]["total"] += 1
    different = written(tmp_path, content)
    with pytest.raises(SystemExit) as caught:
        call_command("replay_trace", str(different), str(SMALL))
    assert caught.value.code == 1
    out = capsys.readouterr().out
    assert out.startswith("e_prefix_identical64: step 3, total: ours 2, theirs 3\n")
    with pytest.raises(SystemExit) as caught:
        call_command("replay_trace", str(different), str(tmp_path / "none.json"))
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
