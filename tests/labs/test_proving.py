"""Proving a lab: the same files whatever the processes, nothing computed twice, and a failure that is heard."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace

import pytest
from django.core.management import CommandError, call_command

from labs import plays, pool, proof, proving
from labs.management.commands import prove as command
from labs.proving import Level, Proof, prove

TINY = Level("tiny", table_seeds=3, pool_seeds=2, cheat_seeds=1, tempting_seeds=2)
REFERENCE = """
title = "Reads, and mends"
ceiling = 100
[[demand]]
run = "request-log --last 12m --summary"
[[demand]]
run = "kv-ledger"
[[demand]]
diagnose = { scope = "fault", slos = ["ttft"], layer = "memory", components = ["kv_pool"], mechanism = "demand_exceeds_pool", parameter = "offered_load_12m", confidence = 80, citations = [{ signal = "offered_load_12m", role = "shows" }] }
[[demand]]
run = "restart --kv-cache-dtype fp8"
"""
TEMPTING = """
title = "Sends some away"
ceiling = 50
tempting = true
must_not_pass = true
[[any]]
run = "shed 20%"
"""


def changed(model, **values):
    return model.model_copy(update=values)


@pytest.fixture
def tiny(spec):
    """A lab of two worlds and a quarter of an hour."""
    demand, leak = spec.hypotheses["demand"], spec.hypotheses["leak"]
    line = {"starts_at_s": -900, "healthy_from_s": -600, "fault_at_s": -420, "budget_s": 900}
    nothing = {"healthy": (), "healthy_mean": (), "page": (), "hurt": ()}
    return changed(
        spec,
        slug="tiny",
        timeline=changed(spec.timeline, **line, grid_s=(0, 120)),
        hypotheses={
            "demand": changed(demand, world=changed(demand.world, offered_load=(2.0, 2.2))),
            "leak": changed(
                leak, world=changed(leak.world, leaked_share=(0.7, 0.75), leak_over_s=120)
            ),
        },
        admission=changed(spec.admission, **nothing),
        mitigation=changed(spec.mitigation, settle_s=60, window_s=180, follow_s=30),
        changes={key: spec.changes[key] for key in ("fp8", "shed", "restart")},
    )


@pytest.fixture
def folder(tiny, tmp_path, monkeypatch):
    """The folder of the small lab, which is the only one there is; its reference is called perfect."""
    (tmp_path / "plays").mkdir()
    (tmp_path / "plays" / "reference.toml").write_text(REFERENCE)
    (tmp_path / "plays" / "shed.toml").write_text(TEMPTING)
    for module in (proving, pool, plays):
        monkeypatch.setattr(module, "folder_of", lambda slug: tmp_path)
    for module in (proving, pool):
        monkeypatch.setattr(module, "lab", lambda key: tiny)
    monkeypatch.setattr(command, "labs", lambda: {"tiny": tiny})
    chosen = {"restart only", "says healthy"}
    monkeypatch.setattr(
        proving,
        "cheats",
        lambda spec, real=proving.cheats: (each for each in real(spec) if each.name in chosen),
    )

    def judged(spec, seed, play, real=plays.judged, **how):
        judgement, clock_s = real(spec, seed, play, **how)
        perfect = replace(judgement, total=100.0) if play == "reference" else judgement
        return perfect, clock_s

    monkeypatch.setattr(plays, "judged", judged)
    monkeypatch.setattr(proving, "DRAFT", TINY)
    yield tmp_path
    for each in (pool.admitted, pool.table, plays.load_play):
        each.cache_clear()


def files(folder):
    found = {name: (folder / name).read_bytes() for name in (pool.TABLE, pool.POOL)}
    said = json.loads((folder / pool.PROOF).read_text())
    said["proof"].pop("cpu_s")
    return found | {pool.PROOF: said}


@pytest.mark.slow
def test_many_processes_write_the_same_files_as_one(folder, monkeypatch):
    one = prove("tiny", TINY)
    alone = files(folder)
    for name in alone:
        (folder / name).unlink()
    monkeypatch.setattr(proving, "ProcessPoolExecutor", ThreadPoolExecutor)
    many = prove("tiny", TINY, jobs=3)
    assert files(folder) == alone
    assert [str(line) for line in many.lines] == [str(line) for line in one.lines]
    assert {line.number for line in one.lines} >= {1, 2, 3, 4, 5, 6, 7, 8, 9}
    says = " ".join(line.says for line in one.lines)
    for name in ("shed earns", "shed passes", "shed mends", "restart only earns", "says healthy"):
        assert name in says
    assert "reference earns at most" not in says
    assert one.admitted == 2


@pytest.mark.slow
def test_a_proof_that_stands_is_not_computed_again(folder, tiny, monkeypatch):
    first = prove("tiny", TINY)
    written = files(folder)

    def computed(*args, **kwargs):
        raise AssertionError("it was computed again")

    with monkeypatch.context() as patch:
        for name in ("_table", "_pool", "_played"):
            patch.setattr(proving, name, computed)
        assert prove("tiny", TINY) == first
        assert files(folder) == written
        patch.setitem(proving.LEVELS, TINY.name, TINY)
        smaller = replace(TINY, name="smaller", table_seeds=TINY.table_seeds - 1)
        assert prove("tiny", smaller) == first
        (folder / "plays" / "shed.toml").write_text(TEMPTING.replace("50", "51"))
        with pytest.raises(AssertionError, match="computed again"):
            prove("tiny", TINY)
    # The worlds are the same, so that the table is read, not made; the rest is new.
    plays.load_play.cache_clear()
    monkeypatch.setattr(proving.table_runs, "make_table", computed)
    again = prove("tiny", TINY)
    shed = next(line for line in again.lines if line.says == "shed earns at most")
    assert shed.threshold == 51
    monkeypatch.setattr(proving, "behaviour", lambda spec: "another")
    with pytest.raises(AssertionError, match="computed again"):
        prove("tiny", TINY)


@pytest.mark.parametrize("change", ["level", "play", "price", "marking"])
def test_a_proof_follows_from_all_that_gives_it_its_numbers(folder, tiny, monkeypatch, change):
    before = proving.proof_hash(tiny, "draft", "behaviour")
    assert before == proving.proof_hash(tiny, "draft", "behaviour")
    level, spec = "draft", tiny
    if change == "level":
        level = "full"
    elif change == "play":
        (folder / "plays" / "another.toml").write_text(TEMPTING)
    elif change == "price":
        dearer = changed(tiny.instruments["ledger"], cost_s=31)
        spec = changed(tiny, instruments={**tiny.instruments, "ledger": dearer})
    else:
        monkeypatch.setattr(proving, "meaning_digest", lambda rooms: "another")
    assert proving.proof_hash(spec, level, "behaviour") != before


def test_a_lab_that_admits_no_seed_says_what_became_of_them(folder, monkeypatch):
    monkeypatch.setattr(proving, "MOST_POOL_TRIED", 2)
    monkeypatch.setattr(proving.table_runs, "stays_hurt", lambda spec, hypothesis, seed: False)
    with pytest.raises(CommandError, match=r"tiny: no pool seed was admitted; .*'unfit': 2"):
        call_command("prove", "tiny")


def test_results_come_in_the_order_of_their_items_and_little_is_computed_ahead():
    begun = []

    def work(item):
        begun.append(item)
        time.sleep(0.002 * (item % 3))
        return item * item

    with ThreadPoolExecutor(3) as executor:
        results = proving._mapped(executor, work, range(100), ahead=5)
        assert [next(results) for _ in range(10)] == [n * n for n in range(10)]
        assert len(begun) <= 15
        assert list(results) == [n * n for n in range(10, 100)]
    assert list(proving._mapped(None, work, range(5))) == [0, 1, 4, 9, 16]


# ------------------------------------------------------------------------------------- the command


def found(*verdicts):
    values = {"green": 2.0, "amber": 1.05, "red": 0.5}
    lines = [proof.Line(4, f"is {name}", values[name], 1.0) for name in verdicts]
    row = {"title": "KV ledger", "bits": 1.0, "seconds": 30.0, "value": 2.0}
    pair = {"one": "demand", "other": "leak", "bits": 0.9, "lower": 0.8}
    return Proof("tiny", "draft", lines, [row], [pair], {"demand": 0.5}, 2, 1.0)


@pytest.fixture
def proves(folder, monkeypatch):
    def say(*verdicts):
        monkeypatch.setattr(proving, "prove", lambda slug, level, **how: found(*verdicts))

    return say


def test_a_proof_that_holds_is_printed_whole(proves, capsys):
    proves("green", "amber")
    call_command("prove", "tiny")
    text = capsys.readouterr().out
    for said in ("tiny, draft", "4 is green 2.00", ": amber", "KV ledger", "demand", "0 of 2 red"):
        assert said in text


def test_one_red_statement_of_one_lab_ends_the_command_with_1(proves, capsys):
    proves("green", "red")
    with pytest.raises(SystemExit) as ended:
        call_command("prove", "--all")
    assert ended.value.code == 1
    assert "1 of 2 red" in capsys.readouterr().out


def test_machines_get_one_json_object_a_lab(proves, capsys):
    proves("green", "red")
    with pytest.raises(SystemExit):
        call_command("prove", "tiny", "--json")
    (said,) = json.loads(capsys.readouterr().out)
    assert (said["slug"], said["holds"]) == ("tiny", False)
    assert [line["verdict"] for line in said["lines"]] == ["green", "red"]
    assert said["lines"][1]["slack"] == -0.5


@pytest.mark.parametrize(
    ("arguments", "level"), [([], "tiny"), (["--draft"], "tiny"), (["--full"], "full")]
)
def test_a_draft_is_what_is_not_asked_for(folder, monkeypatch, capsys, arguments, level):
    asked = []

    def prove_(slug, level, *, jobs, told):
        asked.append((slug, level.name, jobs))
        return found("green")

    monkeypatch.setattr(proving, "prove", prove_)
    call_command("prove", "tiny", *arguments, "--jobs", "2")
    assert asked == [("tiny", level, 2)]


def test_no_lab_named_is_one_clear_line(folder):
    with pytest.raises(CommandError, match=r"name a lab, or --all; there are: tiny"):
        call_command("prove")


def test_a_stored_proof_is_read_back_as_it_was(folder):
    stored = found("green", "red")
    assert proving._stored(json.loads(json.dumps(asdict(stored)))) == stored
