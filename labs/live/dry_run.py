"""What a lab on a box would do, as text: every command and its environment, each fault and its undo, the load, the end.

Nothing is started, set or read, and the same words come out anywhere: paths and variables stand as the profile has them.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from labs import console
from labs.instruments.sources.source import NotMeasured
from labs.live import changing, gpu_readings, readings
from labs.live.faults.acts import STANDS_FOR
from labs.live.faults.means import LEASE
from labs.live.faults.of_worlds import Where, simulated
from labs.live.guard import marks
from labs.live.launching import PASSED, shell_line
from labs.live.load_words import load_of
from labs.live.offering import NotServed, offer, play
from labs.live.placing import Unplaceable, moved
from labs.specs.panels import GPUS, PREFIX
from labs.worlds import HEALTHY, hypothesis_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labs.live.boxes import Box
    from labs.live.faults.acts import Act, Start
    from labs.live.offering import Played
    from labs.specs import LabSpec

WIDTH = 118
GRACE_S = 10
_MARKS = marks(LEASE, "$LIVE_DIR")
_RECORD = "the record"


def dry_run(spec: LabSpec, box: Box, *, world: str | None = None, seed: int = 1) -> str:
    """Return what would be done, or why nothing can be. ``world`` is the seed's own unless given.

    Raises KeyError for a world that the lab does not have.
    """
    name = world or hypothesis_of(spec, seed)
    if name != HEALTHY and name not in spec.hypotheses:
        raise KeyError(name)
    head = f"{spec.slug} on {box.name}, world {name}, seed {seed}"
    try:
        found = offer(spec, box)
    except NotServed as exc:
        return "\n".join([head, *_wrapped(f"Not served here: {exc}.", "")])
    try:
        played = play(found, name, seed, as_written=True)
    except NotServed as exc:
        return "\n".join(
            [
                head,
                *_wrapped(f"Not played here: {exc}.", ""),
                *_section("NOTES", _notes(found.notes)),
            ]
        )
    return "\n".join(
        [head, "Nothing was started, set or read: this is what would be done.", *_lines(played)]
    )


def _lines(played: Played) -> Iterator[str]:
    spec = played.offer.spec
    yield from _section("NOTES", _notes(played.offer.notes))
    at_s = spec.timeline.starts_at_s
    starts = [line for start in played.starts for line in _start(start)]
    starts += _wrapped(
        f"Of the worker's environment {', '.join(PASSED)} are passed on where they are set, and nothing else."
    )
    yield from _section(f"STARTS, before {at_s} s", starts)
    acts = [line for number, act in enumerate(played.acts, 1) for line in _act(number, act)]
    nothing = ["nothing is done to the box"]
    yield from _section(f"FAULT, at {spec.timeline.fault_at_s} s", acts or nothing)
    yield from _section("LOAD", load_of(played, _simulated(played)))
    yield from _section("INSTRUMENTS", _instruments(played))
    yield from _section("CHANGES OF THE BOX", _changes(played))
    yield from _section("END", _end(played))


def _simulated(played: Played) -> list[object]:
    if played.hypothesis == HEALTHY:
        return []
    found = played.offer
    where = Where(found.spec, found.box, played.starts, played.seed, played.world.fleet)
    return simulated(where, found.spec.hypotheses[played.hypothesis].world)


def _section(title: str, lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield ""
        yield title
        yield from (f"  {line}" if line else "" for line in found)


def _wrapped(text: str, hang: str = "  ") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False
    )


def _notes(notes: Sequence[str]) -> list[str]:
    return [line for note in notes for line in _wrapped(f"- {note}")]


def _start(start: Start) -> Iterator[str]:
    launch = start.launch(Path("log"), marks=_MARKS, as_written=True)
    where = f"GPUs {start.seat.cuda_visible_devices}" if start.seat.devices else "the CPU"
    yield f"replica-{start.seat.replica} on {where}, {launch.base_url}"
    for name, value in sorted(launch.env.items()):
        yield f"  {shell_line((), {name: value})} \\"
    words = shell_line(launch.argv).split(" --")
    yield f"  {words[0]} \\"
    for word in words[1:-1]:
        yield f"    --{word} \\"
    yield f"    --{words[-1]}"


def _act(number: int, act: Act) -> Iterator[str]:
    yield f"{number}. {act.says}"
    if act.reads:
        yield f"   read    {shell_line(act.reads)}"
    env = dict(act.env) | (_MARKS if act.stays else {})
    for argv in act.do:
        yield f"   do      {shell_line(argv, env)}{' &' if act.stays else ''}"
    for value, (index, place) in zip(act.values, act.at_least, strict=False):
        yield f"           {{v{index}}} is {value}, or number {place} that was read, whichever is more"
    for start in act.starts:
        yield f"   stop    the replica: SIGTERM to all of its processes, SIGKILL after {GRACE_S} s"
        yield from (
            f"   {'start' if first else '     '}   {line}"
            for first, line in _numbered(_start(start))
        )
    for argv in act.undo:
        yield f"   undo    {shell_line(argv)}"
    if act.starts:
        yield "   undo    its end; a start without what is new here ends it sooner"
    if act.proves:
        yield f"   proof   {shell_line(act.proves)}"
    if act.needs_root:
        yield "   needs   root, or CAP_SYS_ADMIN in a container"
    if act.note:
        yield from (
            f"   {'note' if first else '    '}    {line}"
            for first, line in _numbered(_wrapped(act.note, ""))
        )


def _numbered(lines: Sequence[str] | Iterator[str]) -> Iterator[tuple[bool, str]]:
    return ((index == 0, line) for index, line in enumerate(lines))


def _instruments(played: Played) -> Iterator[str]:
    panels = 0
    for key, instrument in played.offer.spec.instruments.items():
        if key.startswith(PREFIX) and key.removeprefix(PREFIX) not in GPUS:
            panels += 1
            continue
        command = console.parse(instrument.command)
        if isinstance(command, console.Command):
            yield from _wrapped(f"{instrument.command}  ->  {_answers(command, played)}")
    if panels:
        yield f"{panels} dashboard panels  ->  {_RECORD}"
    yield f"({_RECORD}: what the load client saw, /metrics, and the engine's log)"


def _answers(command: console.Command, played: Played) -> str:
    if command.verb == "nccl-log":
        return (
            "the lines of NCCL and of the all-reduce in each replica's log"
            if played.offer.box.devices
            else "CANNOT: there is no GPU"
        )
    if command.verb not in gpu_readings.VERBS:
        why = readings.untold(command, has_gpus=bool(played.offer.box.devices))
        is_told = command.verb in readings.OF_THE_ENGINE or not why
        return _RECORD if is_told else f"CANNOT: {why}"
    try:
        asks = gpu_readings.asks_of(command, played.offer.box, played.starts)
    except NotMeasured as exc:
        return f"CANNOT: {exc}"
    if command.verb == "taskset":
        return "taskset -cp of each worker's process"
    texts = [ask.url or shell_line(ask.argv, dict(ask.env)) for ask in asks]
    wanted = {"dcgm": " (needs dcgm-exporter)", "all-reduce-perf": " (needs nccl-tests)"}
    return "; ".join(texts) + wanted.get(command.verb, "")


def _changes(played: Played) -> Iterator[str]:
    for change in played.offer.spec.changes.values():
        command = console.parse(change.command)
        said = _change(command, played) if isinstance(command, console.Command) else ""
        if said:
            yield from _wrapped(f"{change.command}  ->  {said}")


def _change(command: console.Command, played: Played) -> str:
    """Return what a change does to the box; '' for one of the load client, or of flags alone."""
    box = played.offer.box
    seats = [act_start.seat for act_start in _as_they_are(played)]
    match command.verb:
        case "place":
            gpus = [int(gpu) for gpu in command.options["gpus"].split(",")]
            try:
                moved(seats, int(command.options["replica"]), gpus, box, command.options["node"])
            except Unplaceable as exc:
                return f"CANNOT: {exc}"
            return f"replica {command.options['replica']} is started with CUDA_VISIBLE_DEVICES={command.options['gpus']}"
        case "unset-env":
            name = command.options["name"]
            both = f" and {STANDS_FOR[name]}" if name in STANDS_FOR else ""
            return f"each replica is started without {name}{both}, one after another"
        case "power-limit":
            each = (
                shell_line(("nvidia-smi", "-i", str(gpu), "-pl", command.options["watts"]))
                for gpu in box.devices
            )
            return f"{'; '.join(each)} (needs root; its undo sets back what was read before)"
        case "evict":
            return "ends the processes of this lease that are no engine, and nobody else's"
        case "bind-numa":
            return "each replica is started with --numa-bind, one after another"
        case "rollback-image":
            return "each replica is started without --attention-backend, one after another: there is one image"
        case "add-replica":
            used = sum(len(seat.devices) for seat in seats)
            return (
                f"CANNOT: {used} of {len(box.devices)} GPUs serve, and no more replicas are started"
            )
    why = changing.not_here(command.verb, played.offer.spec)
    return f"CANNOT: {why}" if why else ""


def _as_they_are(played: Played) -> list[Start]:
    """Return the starts once the fault has been made."""
    sick = {start.seat.replica: start for act in played.acts for start in act.starts}
    return [sick.get(start.seat.replica, start) for start in played.starts]


def _end(played: Played) -> Iterator[str]:
    for start in played.starts:
        yield f"stop replica-{start.seat.replica}: SIGTERM to all of its processes, SIGKILL after {GRACE_S} s"
    undone = [argv for act in played.acts for argv in act.undo]
    for argv in reversed(undone):
        yield f"undo {shell_line(argv)}"
    yield "the ledger is empty and gone; what failed stays in it, is said, and is tried by the next sweep"
