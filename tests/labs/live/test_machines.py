"""A world on a box of GPUs from its engines' start to their end, with programs that pose as vLLM and nvidia-smi."""

import time

import pytest

from labs import console, incident
from labs.catalogue import lab
from labs.incident import advance
from labs.instruments.take import NotMeasured, take
from labs.live import beginning, guard
from labs.live.boxes import box
from labs.live.faults.acts import Act
from labs.live.machines import Strike
from labs.live.offering import NotServed
from labs.live.servers import EngineError
from labs.specs.live import Live
from tests.labs.live import posing

NVL = "h100-nvl-4"


@pytest.fixture
def here(tmp_path, monkeypatch):
    return posing.pose(tmp_path, monkeypatch)


def brief(slug, **update):
    """A lab whose world begins a second before its page, with a few requests a second."""
    spec = lab(slug)
    live = Live(boxes=(NVL,), about="A 70B on four H100")
    timeline = spec.timeline.model_copy(
        update={"starts_at_s": -1, "healthy_from_s": -1, "fault_at_s": -1}
    )
    return spec.model_copy(update={"live": live, "timeline": timeline, **update})


@pytest.fixture
def play(here):
    """Wake a world on the box, and close it at the end."""
    made = []

    def wake(slug, hypothesis, *, seed=1, spec=None):
        found = beginning.waking(
            spec or brief(slug),
            seed,
            box(NVL),
            folder=here / "logs",
            marks=guard.marks("a1", here),
            ledger=here / "ledger",
            hypothesis=hypothesis,
            ready_within_s=10,
        )
        made.append(found)
        return found

    yield wake
    for each in made:
        beginning.cluster_of(each).close()
    assert [each for each, _ in guard.marked(here)] == []


def at_page(found):
    beginning.begin(found, lambda share, doing: None)
    advance(found, 0)
    settled(found)
    return beginning.cluster_of(found)


def settled(found):
    """Let the world go on until no replica is being started."""
    cluster = beginning.cluster_of(found)
    until = time.monotonic() + 10
    while cluster.machine.is_rolling or any(each.is_starting for each in cluster.replicas):
        assert time.monotonic() < until
        cluster.keep_up()
        time.sleep(0.01)


def tell(found, line):
    """Carry a change out at once, without its price."""
    command = console.parse(line)
    operation = {"verb": command.verb, **command.options}
    refused = incident.why_not(found, operation)
    if not refused:
        incident.carry_out(found, operation, len(found.changes) + 1)
        settled(found)
    return refused


def gpus(here):
    return [environment["CUDA_VISIBLE_DEVICES"] for _, environment in posing.starts(here)]


def test_a_cap_strikes_in_its_time_and_is_undone_when_the_world_ends(here, play):
    found = play("slow-to-begin", "cap", seed=7)
    cluster = at_page(found)
    assert sorted(gpus(here)) == ["0,1", "2,3"]
    words, environment = posing.starts(here)[0]
    assert words[words.index("--tensor-parallel-size") + 1] == "2"
    assert environment["COURSEWARE_LEASE"] == "a1"
    read, capped = posing.smi(here)
    gpu = capped.split()[1]
    assert read.startswith(f"-i {gpu} --query-gpu=power.limit")
    assert capped.startswith(f"-i {gpu} -pl ")
    assert (here / "ledger").exists()
    cluster.close()
    assert posing.smi(here)[-1] == f"-i {gpu} -pl 400.00"
    assert not (here / "ledger").exists()
    assert cluster.not_undone == []


def test_a_start_without_p2p_is_undone_by_a_start_without_the_variable(here, play):
    found = play("slow-to-begin", "host_path")
    at_page(found)
    assert [env.get("NCCL_P2P_DISABLE") for _, env in posing.starts(here)] == [None, None, "1"]
    sick = gpus(here)[2]
    assert tell(found, "unset-env NCCL_P2P_DISABLE") == ""
    later = posing.starts(here)[3:]
    assert [env.get("NCCL_P2P_DISABLE") for _, env in later] == [None, None]
    assert [env["CUDA_VISIBLE_DEVICES"] for _, env in later] == ["0,1", "2,3"]
    assert sick in {"0,1", "2,3"}


def test_a_restart_with_flags_keeps_what_the_fault_changed(here, play):
    found = play("slow-to-begin", "host_path")
    at_page(found)
    before = len(posing.starts(here))
    assert tell(found, "restart --max-num-batched-tokens 8192") == ""
    later = posing.starts(here)[before:]
    assert {words[words.index("--max-num-batched-tokens") + 1] for words, _ in later} == {"8192"}
    assert sorted(env.get("NCCL_P2P_DISABLE", "") for _, env in later) == ["", "1"]
    assert found.fleet.config.max_num_batched_tokens == 8192
    undo = {"verb": "undo", "of": 1, "operation": found.changes[0].operation}
    assert incident.why_not(found, undo) == ""
    incident.carry_out(found, undo, 2)
    settled(found)
    back = posing.starts(here)[before + 2 :]
    drawn = str(found.world.fleet.config.max_num_batched_tokens)
    assert {words[words.index("--max-num-batched-tokens") + 1] for words, _ in back} == {drawn}


def test_a_replica_is_placed_on_gpus_that_are_free_and_on_no_others(here, play):
    found = play("slow-to-begin", "healthy")
    at_page(found)
    assert tell(found, "place 0 2,3") == "place: replica 1 runs on GPU 2,3. Nothing was charged."
    assert tell(found, "place 0 node-c 0,1").startswith("place: h100-nvl-4 is one machine")
    assert tell(found, "place 0 1,0") == ""
    assert gpus(here)[2:] == ["1,0"]
    assert tell(found, "add-replica").startswith("add-replica: 4 of the 4 GPUs of this box serve")


def test_power_is_limited_on_every_gpu_and_set_back_at_the_end(here, play):
    found = play("slow-to-begin", "healthy")
    cluster = at_page(found)
    assert tell(found, "nvidia-smi -pl 300") == ""
    assert [line for line in posing.smi(here) if "-pl" in line] == [
        f"-i {gpu} -pl 300" for gpu in range(4)
    ]
    assert tell(found, "nvidia-smi -pl 150").startswith("Provided power limit 150.00 W")
    cluster.close()
    assert [(here / f"limit-{gpu}").read_text() for gpu in range(4)] == ["400.00"] * 4


def test_a_limit_that_the_driver_refuses_is_told_and_costs_nothing(here, play):
    found = play("slow-to-begin", "healthy", spec=with_power_limit())
    at_page(found)
    (here / "refuses").touch()
    outcome = incident.perform(found, console.parse("nvidia-smi -pl 300"), 1)
    assert (outcome.kind, outcome.cost_s, found.changes) == ("refused", 0, [])
    assert "Insufficient Permissions" in outcome.text


def with_power_limit():
    spec = brief("slow-to-begin")
    change = next(iter(spec.changes.values())).model_copy(update={"command": "nvidia-smi -pl 400"})
    return spec.model_copy(update={"changes": {**spec.changes, "power_limit": change}})


def test_a_fault_that_cannot_be_made_ends_the_world(here, play):
    (here / "refuses").touch()
    found = play("slow-to-begin", "cap", seed=7)
    with pytest.raises(
        EngineError, match=r"could not be brought into the incident's world: .*Insuf"
    ):
        at_page(found)


def test_what_cannot_be_undone_is_told_and_stays_in_the_ledger(here, play):
    found = play("slow-to-begin", "cap", seed=7)
    cluster = at_page(found)
    (here / "refuses").touch()
    cluster.close()
    assert len(cluster.not_undone) == 1
    assert "-pl 400.00" in cluster.not_undone[0]
    assert (here / "ledger").exists()
    (here / "refuses").unlink()
    assert guard.undo(here / "ledger") == []


def test_an_engine_that_does_not_come_up_leaves_nothing(here, play):
    posing.says(here, log=["ValueError: no GPU of that number"], dies=True)
    found = play("slow-to-begin", "cap", seed=7)
    with pytest.raises(EngineError, match="ValueError: no GPU of that number"):
        beginning.begin(found, lambda share, doing: None)
    beginning.cluster_of(found).close()
    assert posing.smi(here) == []


def test_a_class_of_requests_is_sent_with_its_priority(here, play):
    found = play("slow-to-begin", "healthy")
    cluster = beginning.cluster_of(found)
    cluster.machine.priorities[cluster.workload.spec.classes[0].name] = -1
    at_page(found)
    cluster.advance(1.0)
    assert {priority for _, _, priority in posing.asked(here)} == {-1}


def test_instruments_read_the_box_and_signals_only_what_it_printed(here, play):
    rows = [
        f"{gpu}, {clock} MHz, 0x{bits:016x}"
        for gpu, clock, bits in ((0, 1980, 0), (1, 1980, 0), (2, 990, 4), (3, 1980, 0))
    ]
    (here / "smi.txt").write_text(
        "\n".join(["index, clocks.current.sm [MHz], clocks_event_reasons.active", *rows])
    )
    found = play("slow-to-begin", "healthy")
    at_page(found)
    query = "nvidia-smi --query-gpu=index,clocks.sm,clocks_event_reasons.active --format=csv"
    shown = take(found.view, console.parse(query))
    assert shown.text.splitlines()[3] == rows[2]
    assert shown.signals["sm_clock_mhz_min"] == 990
    assert found.view.cluster.hardware is None
    outcome = incident.perform(found, console.parse("rank-times --last 60s"), 1)
    assert outcome.kind == "refused"
    assert "no counter of a real engine says how long a rank waits" in outcome.text


def test_what_takes_long_is_measured_while_its_price_is_waited_for(here, play):
    found = play("slow-to-begin", "healthy")
    at_page(found)
    line = "all_reduce_perf -b 8M -e 32M -f 2"
    command = console.parse(line)
    with pytest.raises(NotMeasured, match="nccl-tests are not installed on this box"):
        take(found.view, command)
    posing.program(here, "all_reduce_perf", "#!/bin/sh\necho measured on $CUDA_VISIBLE_DEVICES\n")
    assert take(found.view, command).text == ""
    shown = take(found.view, command)
    assert [each for each in shown.text.splitlines() if "measured" in each] == [
        "measured on 0,1",
        "measured on 2,3",
    ]
    assert beginning.cluster_of(found).machine.measuring == {}


def test_what_an_engine_said_at_its_start_names_its_kernels(here, play):
    posing.says(
        here,
        log=[
            "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN']",
            "Selected CutlassFP8ScaledMMLinearKernel for Fp8LinearMethod",
        ],
    )
    found = play("slow-to-begin", "healthy")
    at_page(found)
    shown = found.view.real(
        0.0, 0, console.parse("grep -E 'Selected|attention backend' /var/log/vllm/startup.log")
    )
    assert len(shown.text.splitlines()) == 2


def test_a_lab_whose_memory_is_followed_is_not_played(here, play):
    spec = brief("the-audit-complains")
    assert spec.fleet.memory is None or play("the-audit-complains", "split")
    with pytest.raises(NotServed):
        play("preemption-storm", "leak", spec=brief("preemption-storm"))


def test_an_act_says_what_it_is_where_faults_are_listed():
    assert repr(Strike(None, Act("GPU 0"))).startswith("Strike(act=Act(says='GPU 0'")
