import sys

import pytest

from labs import console
from labs.catalogue import labs
from labs.instruments.sources.source import NotMeasured
from labs.live import gpu_readings
from labs.live.boxes import box, for_profile
from labs.live.faults.acts import Start
from labs.live.gpu_readings import asks_of, nccl_lines, read
from labs.live.placing import Seat
from labs.simulator.config import EngineConfig

NVL = for_profile(box("h100-nvl-4"), "llama-70b-nvl")
CONFIG = EngineConfig(num_gpu_blocks=6000)
STARTS = (
    Start(NVL, CONFIG, Seat(0, 8100, (0, 1)), env=(("NCCL_P2P_DISABLE", "1"), ("OTHER", "x"))),
    Start(NVL, CONFIG, Seat(1, 8101, (2, 3))),
)


def argv(line, **options):
    return [ask.argv or ask.url for ask in asks_of(console.parse(line), NVL, STARTS, **options)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nvidia-smi", "nvidia-smi"),
        ("nvidia-smi topo -m", "nvidia-smi topo -m"),
        ("topo -m", "nvidia-smi topo -m"),
        ("nvidia-smi nvlink -s", "nvidia-smi nvlink -s"),
        (
            "nvidia-smi --query-gpu=index,clocks.sm,clocks_event_reasons.active --format=csv",
            "nvidia-smi --query-gpu=index,clocks.sm,clocks_event_reasons.active --format=csv",
        ),
        ("nvidia-smi --query-gpu=index", "nvidia-smi --query-gpu=index --format=csv"),
        ("nvidia-smi dmon", "nvidia-smi dmon -c 1"),
        ("nvidia-smi dmon -c 99 -s pu", "nvidia-smi dmon -c 10 -s pu"),
        (
            "nvidia-smi dmon -c 1 --gpm-metrics",
            "nvidia-smi dmon -c 1 --gpm-metrics 1,5,10,20,21,60,61",
        ),
        ("nvidia-smi dmon --gpm-metrics 5,10", "nvidia-smi dmon --gpm-metrics 5,10 -c 1"),
        ("dmesg -T", "dmesg -T"),
    ],
)
def test_an_instrument_is_a_real_command(line, said):
    assert argv(line) == [tuple(said.split())]


def test_dcgm_is_the_exporters_page():
    assert argv("curl -s localhost:9400/metrics | grep FB_USED") == [
        "http://127.0.0.1:9400/metrics"
    ]


def test_nccl_tests_run_on_each_replicas_gpus_with_its_nccl_variables():
    first, second = asks_of(console.parse("all_reduce_perf -b 8M -e 32M -f 2"), NVL, STARTS)
    assert " ".join(first.argv) == "all_reduce_perf -b 8M -e 32M -f 2 -g 2"
    assert dict(first.env) == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "NCCL_P2P_DISABLE": "1",
    }
    assert dict(second.env)["CUDA_VISIBLE_DEVICES"] == "2,3"


def test_taskset_asks_for_each_worker():
    assert argv("taskset -cp", pids=[71, 72]) == [
        ("taskset", "-cp", "71"),
        ("taskset", "-cp", "72"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "nvidia-smi dmon -f /etc/passwd",
        "nvidia-smi dmon --gpm-metrics ../x",
        "nvidia-smi dmon -c many",
        "nvidia-smi --query-gpu=index;reboot --format=csv",
        "nvidia-smi --query-gpu=index --format=xml",
        "nvidia-smi --query-gpu=index -f/tmp/x",
        "nvidia-smi --query-compute-apps=pid,$(id)",
    ],
)
def test_a_word_that_stands_in_no_list_is_not_passed_on(line):
    command = console.parse(line)
    if isinstance(command, console.Refusal):
        return
    with pytest.raises(NotMeasured, match=r"Nothing was charged\."):
        asks_of(command, NVL, STARTS)


def test_every_instrument_of_every_lab_that_reads_gpus_has_its_command():
    for spec in labs().values():
        for instrument in spec.instruments.values():
            command = console.parse(instrument.command)
            if command.verb in gpu_readings.VERBS - {"nccl-log"}:
                assert asks_of(command, NVL, STARTS, pids=[1]), instrument.command


def test_a_box_without_gpus_says_so():
    with pytest.raises(
        NotMeasured, match=r"This box has no GPU: nvidia-smi has nothing .* charged"
    ):
        asks_of(console.parse("nvidia-smi"), box("cpu"))


# ----------------------------------------------------------------------------------------- asking


def test_a_program_that_is_not_there_is_named(tmp_path):
    command = console.parse("all_reduce_perf -b 8M -e 32M -f 2")
    with pytest.raises(NotMeasured, match="all_reduce_perf: nccl-tests are not installed"):
        read(command, asks_of(command, NVL, STARTS), {"PATH": str(tmp_path)})


def fake(tmp_path, code):
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!{sys.executable}\n{code}\n", encoding="utf-8")
    program.chmod(0o755)
    return {"PATH": str(tmp_path)}


def test_what_is_printed_is_the_reading_errors_too_and_filters_follow(tmp_path):
    code = "import sys; print('\\x1b[4mone\\x1b[0m'); print('two', *sys.argv[1:]); print('no', file=sys.stderr); sys.exit(9)"
    environment = fake(tmp_path, code)
    command = console.parse("nvidia-smi topo -m | grep two")
    whole, text = read(command, asks_of(command, NVL), environment)
    assert sorted(whole.splitlines()) == ["no", "one", "two topo -m"]
    assert text == "two topo -m"


def test_a_program_that_does_not_answer_is_left(tmp_path):
    environment = fake(tmp_path, "import time; time.sleep(60)")
    command = console.parse("nvidia-smi")
    ask = gpu_readings.Ask(("nvidia-smi",), timeout_s=0.2)
    with pytest.raises(NotMeasured, match="nvidia-smi did not answer within 0 s"):
        read(command, [ask], environment)


def test_an_exporter_that_is_not_there_is_named():
    command = console.parse("curl -s localhost:9400/metrics")
    ask = gpu_readings.Ask(url="http://127.0.0.1:1/metrics")
    with pytest.raises(NotMeasured, match="dcgm-exporter is not running on this box"):
        read(command, [ask], {})


def test_the_answers_of_several_replicas_stand_under_their_names():
    command = console.parse("all_reduce_perf -b 8M -e 32M -f 2")
    asks = asks_of(command, NVL, STARTS)
    whole, _ = read(command, asks, {}, lambda ask, _: dict(ask.env)["CUDA_VISIBLE_DEVICES"])
    assert whole == "==> replica-0 <==\n0,1\n\n==> replica-1 <==\n2,3"


def test_the_lines_of_a_log_that_tell_of_links_are_kept():
    log = "INFO start\nn:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\nINFO Using ['PYNCCL'] all-reduce backends\n"
    assert len(nccl_lines(log).splitlines()) == 2
