import pytest

from labs import console
from labs.catalogue import lab
from labs.instruments.sources.source import NotMeasured
from labs.live.boxes import box
from labs.live.gpu_instruments import Devices, before_of, take
from labs.live.offering import offer, play

from .test_gpu_outputs import APPS, NVLINK, PERF, QUERY, TOPO

DMESG = "[Mon Nov 30 09:00:00 2026] NVRM: loading NVIDIA UNIX Open Kernel Module"
ANSWERS = {
    "--query-gpu": QUERY,
    "--query-compute-apps": APPS,
    "topo": TOPO,
    "nvlink": NVLINK,
    "dmesg": DMESG,
    "all_reduce_perf": PERF,
}


@pytest.fixture
def spec():
    return lab("slow-to-begin")


@pytest.fixture
def devices(spec):
    starts = play(offer(spec, box("h100-nvl-4")), "healthy", 7).starts

    def run(ask, _):
        return next(text for word, text in ANSWERS.items() if word in " ".join(ask.argv))

    return Devices(starts[0].box, starts, {}, run=run)


def signals(devices, spec, line):
    return take(devices, console.parse(line), spec.signals).signals


def test_a_reading_has_the_labs_signals_and_no_other(devices, spec):
    line = "nvidia-smi --query-gpu=index,clocks.sm,clocks_event_reasons.active --format=csv"
    assert set(signals(devices, spec, line)) == {"sm_clock_mhz_min", "throttle_reason"}


def test_a_line_that_was_filtered_away_shows_nothing(devices, spec):
    shown = take(
        devices,
        console.parse(
            "nvidia-smi --query-compute-apps=pid,process_name --format=csv | grep nobody"
        ),
        spec.signals,
    )
    assert (shown.text, shown.signals) == ("(no line matches)", {})


def test_what_was_inactive_before_is_no_fault(devices, spec):
    before = before_of(devices)
    assert (before.inactive_links, before.xids) == (3, 0)
    assert before.near[0] == "0-31,64-95"
    told = Devices(devices.box, devices.starts, {}, before=before, run=devices.run)
    line = "nvidia-smi nvlink -s"
    assert take(told, console.parse(line), {"inactive_links"}).signals == {"inactive_links": 0}
    assert take(devices, console.parse(line), {"inactive_links"}).signals == {"inactive_links": 3}


def test_the_slowest_of_two_replicas_counts(devices, spec):
    assert signals(devices, spec, "all_reduce_perf -b 8M -e 32M -f 2") == {"busbw_gb_s_min": 13.71}
    assert signals(devices, spec, "topo -m") == {"worst_link": "NV12"}


def test_the_links_of_each_replica_are_read_from_its_log(devices, spec, tmp_path):
    logs = []
    for replica, way in enumerate(("P2P/CUMEM", "SHM/direct/direct")):
        path = tmp_path / f"{replica}.log"
        path.write_text(f"INFO up\nn:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via {way}\n")
        logs.append(path)
    told = Devices(devices.box, devices.starts, {}, logs=tuple(logs), run=devices.run)
    shown = take(told, console.parse("cat /var/log/vllm/nccl.log"), spec.signals)
    assert shown.signals == {"nccl_transport": "SHM"}
    assert shown.text.splitlines()[0] == "==> replica-0 <=="
    assert "INFO up" not in shown.text


def test_every_signal_that_the_labs_of_a_box_read_of_their_gpus_is_found(devices):
    """By the marks of the simulator's instruments: what they promise, a real answer holds."""
    line = "nvidia-smi dmon -c 1 --gpm-metrics"
    from .test_gpu_outputs import DMON

    told = Devices(devices.box, devices.starts, {}, run=lambda *_: DMON)
    for slug in ("slow-to-begin", "good-and-bad-minutes", "the-audit-complains"):
        spec = lab(slug)
        instrument = next(each for each in spec.instruments.values() if each.command == line)
        found = take(told, console.parse(line), instrument.signals).signals
        assert set(found) == set(instrument.signals), slug


def test_a_box_without_gpus_refuses(devices, spec):
    bare = Devices(box("cpu"), (), {})
    with pytest.raises(NotMeasured, match="This box has no GPU"):
        take(bare, console.parse("cat /var/log/vllm/nccl.log"), spec.signals)
