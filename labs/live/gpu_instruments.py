"""An instrument taken on a box of GPUs: what its command printed, and the signals that can be seen in what is left of it.

A signal counts as read when a line that shows it is still there after the filters, by the same marks as in the simulator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labs.console import Command, filtered
from labs.instruments.sources import SOURCES, NotMeasured
from labs.instruments.take import Shown
from labs.live import gpu_formats, gpu_outputs, gpu_readings

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from labs.live.boxes import Box
    from labs.live.faults.acts import Start
    from labs.live.gpu_outputs import Before
    from labs.live.gpu_readings import Run


@dataclass(frozen=True)
class Devices:
    """The GPUs of a box while a lease runs."""

    box: Box
    starts: tuple[Start, ...]
    """The replicas as they run now."""
    environment: Mapping[str, str]
    """All that a command finds."""
    before: Before = field(default_factory=gpu_outputs.Before)
    worker_pids: tuple[int, ...] = ()
    """Of the replicas' workers, in order of replica and rank."""
    logs: tuple[Path, ...] = ()
    """Of the replicas."""
    run: Run | None = None


def before_of(devices: Devices) -> Before:
    """Return what a box shows before anything is done to it; what it cannot tell stays at nothing."""
    return gpu_outputs.Before(
        inactive_links=gpu_formats.inactive_links(_text(devices, "nvlink -s")),
        xids=gpu_formats.xids(_text(devices, "", verb="dmesg")),
        near=gpu_formats.near_cpus(_text(devices, "topo -m")),
    )


def _text(devices: Devices, target: str, verb: str = "nvidia-smi") -> str:
    command = Command(verb, target=target)
    try:
        asks = gpu_readings.asks_of(command, devices.box)
        return gpu_readings.read(command, asks, devices.environment, devices.run)[0]
    except NotMeasured:
        return ""


def take(devices: Devices, command: Command, signals: Collection[str]) -> Shown:
    """Return what a command prints on a box, and those of ``signals`` that are seen in it.

    Raises NotMeasured for what the box cannot answer.
    """
    if command.verb == "nccl-log" and devices.box.devices:
        whole = _logs(devices)
        text = filtered(whole, command.filters) or "(no line matches)"
    else:
        asks = gpu_readings.asks_of(command, devices.box, devices.starts, pids=devices.worker_pids)
        whole, text = gpu_readings.read(command, asks, devices.environment, devices.run)
    found = gpu_outputs.signals_of(
        command,
        whole,
        groups=[start.seat.devices for start in devices.starts],
        before=devices.before,
        own_pids=devices.worker_pids,
    )
    seen = _seen(command, text.splitlines())
    return Shown(
        text, {name: value for name, value in found.items() if name in seen & set(signals)}
    )


def _logs(devices: Devices) -> str:
    texts = [
        gpu_readings.nccl_lines(path.read_text(encoding="utf-8", errors="replace"))
        for path in devices.logs
        if path.is_file()
    ]
    if len(texts) == 1:
        return texts[0]
    return "\n\n".join(f"==> replica-{index} <==\n{text}" for index, text in enumerate(texts))


def _seen(command: Command, lines: Sequence[str]) -> set[str]:
    marks = SOURCES[command.verb].marks(command)
    return {name for mark, name in marks.items() if any(re.search(mark, line) for line in lines)}
