"""What an engine wrote while it started, when it captured a graph, and as it died; in vLLM's formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.logs.entries import stamp
from labs.simulator.memory.growth import LazyCapture
from labs.simulator.memory.messages import LogLine
from labs.simulator.memory.state import FIRST_PID

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.simulator.memory.lives import Life
    from labs.simulator.memory.state import Memory

NOT_FOLLOWED = "no start-up log: this replica has been up since before the log begins"


def startup_log(view: View, replica: int = 0, *, back: int = 0) -> str:
    """Return the log of a replica's latest start (``back`` starts before it), as far as it has come.

    A start that has not come to its end yet stands below the one before it: a file keeps both.
    """
    memory = view.cluster.memory.get(replica)
    lives = [] if memory is None else [life for life in memory.lives if life.start_s <= view.now_s]
    if memory is None or back >= len(lives):
        return NOT_FOLLOWED
    shown = lives[: len(lives) - back][-1:]
    if len(lives) - back > 1 and shown[0].start_s + shown[0].startup.took_s > view.now_s:
        shown = lives[: len(lives) - back][-2:]
    lines = [
        _line(life, line)
        for life in shown
        for line in life.startup.lines
        if life.start_s + line.after_s <= view.now_s
    ]
    return "\n".join(lines)


def memory_log(view: View, replica: int = 0, *, window_s: float = 48 * 3600.0) -> str:
    """Return the lines about memory outside of starts: graphs captured late, and the errors that ended a process."""
    memory = view.cluster.memory.get(replica)
    if memory is None:
        return NOT_FOLLOWED
    entries = [
        entry for life in memory.lives for entry in (*_captures(memory, life), *_end(memory, life))
    ]
    shown = [
        line
        for at_s, line in sorted(entries, key=lambda entry: entry[0])
        if view.now_s - window_s < at_s <= view.now_s
    ]
    return "\n".join(shown) or f"no line about memory in the last {window_s / 3600:g} h"


def _captures(memory: Memory, life: Life) -> list[tuple[float, str]]:
    lines = []
    for growth in memory.growths_of(life):
        if not isinstance(growth, LazyCapture):
            continue
        for due, shape in growth.captures(life.index):
            at_s = life.time_of(due)
            if at_s is not None:
                text = (
                    f"Captured CUDA graph for an unseen batch: {shape.decode_tokens} decode + "
                    f"{shape.prefill_tokens} prefill tokens, private pool {shape.pool_bytes / 1e9:.2f} GB"
                )
                line = LogLine(at_s - life.start_s, "Worker_TP0", "INFO", "", text)
                lines.append((at_s, _line(life, line)))
    return lines


def _end(memory: Memory, life: Life) -> list[tuple[float, str]]:
    if life.ended_s is None or not life.ended_by or life.startup.failure is not None:
        return []
    after_s = life.ended_s - life.start_s
    if not life.ended_by.startswith("CUDA out of memory"):
        line = LogLine(after_s, "APIServer", "INFO", "", f"kubelet: {life.ended_by}")
        return [(life.ended_s, _line(life, line))]
    frame = oom_frame(memory, life)
    file, name = FAILED_AT[frame]
    texts = (
        (
            "Worker_TP0",
            "multiproc_executor.py:953",
            f'WorkerProc hit an exception. File "{file}", in {name}',
        ),
        ("Worker_TP0", "multiproc_executor.py:953", "torch.OutOfMemoryError: " + life.ended_by),
        ("EngineCore", "core.py:1510", "EngineCore encountered a fatal error."),
        ("APIServer", "", "AsyncLLM output_handler failed. EngineDeadError"),
    )
    return [
        (life.ended_s, _line(life, LogLine(after_s, who, "ERROR", source, text)))
        for who, source, text in texts
    ]


FAILED_AT = {
    "prompt_logprobs": ("vllm/v1/worker/gpu_model_runner.py", "_get_prompt_logprobs_dict"),
    "attention_scores": ("torch/nn/functional.py", "scaled_dot_product_attention"),
    "encoder": ("vllm/v1/worker/gpu_model_runner.py", "_execute_mm_encoder"),
    "graph": ("engine/lazy_graphs.py", "capture_unseen"),
    "step": ("vllm/v1/worker/gpu_model_runner.py", "execute_model"),
}
"""The frame that a traceback ends in, by what was being allocated. Functions are vLLM's and torch's but for the lazy engine's."""


def oom_frame(memory: Memory, life: Life) -> str:
    """Return which of FAILED_AT the allocation belonged to that ended a process."""
    ended_s = life.ended_s or 0.0
    for transient in memory.transients:
        if transient.failed and transient.at_s == ended_s:
            return transient.kind
    if life.workspaces is not None and life.workspaces.at(ended_s).at_s == ended_s:
        return "encoder"
    grows = any(isinstance(each, LazyCapture) for each in memory.growths_of(life))
    return "graph" if grows else "step"


def _line(life: Life, line: LogLine) -> str:
    pid = FIRST_PID + 137 * life.index - 2
    if line.who.startswith("Worker_TP"):
        pid = FIRST_PID + 137 * life.index + 7 * int(line.who.removeprefix("Worker_TP"))
    elif line.who == "APIServer":
        pid = 1
    at = stamp(life.start_s + line.after_s)
    source = f"[{line.source}] " if line.source else ""
    return f"({line.who} pid={pid}) {line.level} {at} {source}{line.text}"
