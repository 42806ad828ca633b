"""A box with GPUs while a lease plays a world on it: how its replicas run now, what was done to it, and how that is undone.

Nothing here was ever run on a GPU; docs/gpu-boxes.md says what to check first.
"""

from __future__ import annotations

import os
import re
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from labs.instruments.sources import NotMeasured
from labs.instruments.take import Shown, instrument_of
from labs.live import gpu_instruments, gpu_readings, guard, servers
from labs.live.faults.performing import ActError, Hands
from labs.live.gpu_instruments import Devices, before_of
from labs.live.gpu_outputs import Before
from labs.live.launching import PASSED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from labs.console import Command
    from labs.live.boxes import Box
    from labs.live.clusters import LiveCluster
    from labs.live.faults.acts import Act, Start
    from labs.live.launching import Launch
    from labs.live.offering import Played
    from labs.live.replicas import Replica
    from labs.simulator.cluster import Cluster
    from labs.simulator.config import EngineConfig
    from labs.specs import LabSpec

LONG = "all-reduce-perf"
"""The one instrument that takes tens of seconds: nobody could wait for it and keep the lease alive."""
LATE_S = 5.0
LOOK_EVERY_S = 1.0
"""How often replicas that are rolled one after another are looked at."""
_WORKER = re.compile(r"VLLM::Worker\w*?(\d+)$")
_ALONE = "VLLM::EngineCore"
"""What runs on the GPU where a replica has one rank."""


@dataclass
class Machine:
    """The GPUs of a lease."""

    box: Box
    """As it serves the lab's profile."""
    starts: list[Start]
    """How each replica runs now, or is being started."""
    hands: Hands
    folder: Path
    """Gets the replicas' logs."""
    priorities: Mapping[str, int] = field(default_factory=dict)
    """Classes of requests that are sent with a priority."""
    before: Before = field(default_factory=Before)
    measuring: dict[str, tuple[float, Future[Shown]]] = field(default_factory=dict)
    """What takes long: when it was begun, and its end."""
    is_rolling: bool = False
    """Whether replicas are being started one after another."""

    def launch(self, replica: int, config: EngineConfig) -> Launch:
        """Return how a replica is started with these knobs. Raises BoxError for a variable that is not set."""
        now = self.starts[replica]
        # The engine before it may have left its port to a kernel that keeps it for a while.
        seat = replace(now.seat, port=servers.port_for(now.seat.port))
        start = self.starts[replica] = replace(now, config=config, seat=seat)
        made = start.launch(self.log_path(replica), marks=self.hands.marks)
        return replace(made, ledger=self.hands.ledger)

    def log_path(self, replica: int) -> Path:
        """Return the log of a replica: one file for all of its starts."""
        return self.folder / f"engine-{replica}.log"

    def look(self) -> None:
        """Note what the box shows before anything is done to it."""
        self.before = before_of(self.devices([]))

    def devices(self, replicas: Sequence[Replica]) -> Devices:
        """Return the box as its instruments see it now."""
        return Devices(
            self.box,
            tuple(self.starts),
            self.hands.environment,
            self.before,
            worker_pids=tuple(pid for each in replicas for pid in workers_of(each)),
            logs=tuple(self.log_path(each.seat.replica) for each in self.starts),
        )

    def take(
        self, command: Command, replicas: Sequence[Replica], spec: LabSpec, now_s: float
    ) -> Shown:
        """Return what an instrument shows. Raises NotMeasured for what the box cannot answer.

        It is asked twice, before its price and after. What takes long is begun the first time and had the second.
        """
        devices = self.devices(replicas)
        if command.verb != LONG:
            return gpu_instruments.take(devices, command, spec.signals)
        begun = self.measuring.pop(repr(command), None)
        price_s = spec.instruments[instrument_of(command)].cost_s
        if begun is not None and now_s - begun[0] <= price_s + LATE_S:
            return _had(begun[1])
        asks = gpu_readings.asks_of(command, self.box, self.starts)
        gpu_readings.require(asks, devices.environment)
        work: Future[Shown] = Future()
        self.measuring[repr(command)] = (now_s, work)
        threading.Thread(
            target=_measure, args=(work, devices, command, spec.signals), daemon=True
        ).start()
        return Shown("", {})

    def do(self, act: Act, cluster: LiveCluster) -> None:
        """Do an act: its commands, then the replicas that it starts otherwise. Raises EngineError."""
        try:
            self.hands.perform(act)
        except ActError as exc:
            raise servers.EngineError(
                f"This box could not be brought into the incident's world: {exc}"
            ) from exc
        for start in act.starts:
            self.start(start, cluster)

    def start(self, start: Start, cluster: LiveCluster) -> None:
        """Stop a replica and start it so, in a thread."""
        replica = start.seat.replica
        self.starts[replica] = start
        cluster.restart_engine(replica, start.config, cluster.replicas[replica].cost, 0.0)

    def roll(self, starts: Sequence[Start], cluster: LiveCluster) -> None:
        """Start replicas so, one after another: each once the one before it answers."""
        self.is_rolling = True
        Turn(self, tuple(starts)).strike(cluster, cluster.now_s)

    def undo(self) -> list[str]:
        """Undo all that was done to the box; return a sentence for each thing that failed and stays in the ledger."""
        return self.hands.undo()


def _measure(
    work: Future[Shown], devices: Devices, command: Command, signals: Collection[str]
) -> None:
    try:
        work.set_result(gpu_instruments.take(devices, command, signals))
    except Exception as exc:  # noqa: BLE001  (whoever waits for it hears of it)
        work.set_exception(exc)


def _had(work: Future[Shown]) -> Shown:
    """Return what was measured. Raises NotMeasured for what failed or has not ended yet."""
    try:
        return work.result(LATE_S)
    except TimeoutError:
        raise NotMeasured(f"{LONG}: it has not ended in its time; take it again.") from None


@dataclass(frozen=True)
class Strike:
    """An act of a world's fault, at its time."""

    machine: Machine = field(repr=False)
    act: Act

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Do it. Raises EngineError: a world without its fault would be another one."""
        del at_s
        self.machine.do(self.act, _live(cluster))


@dataclass(frozen=True)
class Turn:
    """The next of the replicas that are rolled, once the last one answers."""

    machine: Machine = field(repr=False)
    starts: tuple[Start, ...]
    after: int | None = None
    """The replica that has to answer first."""

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Start it, or look again a second later; a replica that does not come up ends the rolling."""
        live = _live(cluster)
        last = None if self.after is None else live.replicas[self.after]
        if last is not None and last.is_dead:
            self.machine.is_rolling = False
        elif last is not None and last.is_down:
            cluster.schedule(at_s + LOOK_EVERY_S, self)
        elif not self.starts:
            self.machine.is_rolling = False
        else:
            first, *rest = self.starts
            self.machine.start(first, live)
            turn = Turn(self.machine, tuple(rest), first.seat.replica)
            cluster.schedule(at_s + LOOK_EVERY_S, turn)


def _live(cluster: Cluster) -> LiveCluster:
    found: LiveCluster = cluster  # type: ignore[assignment]  # Strikes are scheduled on live clusters alone.
    return found


def machine_of(played: Played, *, folder: Path, marks: Mapping[str, str], ledger: Path) -> Machine:
    """Return the box of a world that is about to be played; nothing is done to it yet."""
    environment = {key: os.environ[key] for key in PASSED if key in os.environ}
    return Machine(
        played.offer.box,
        list(played.starts),
        Hands(ledger, marks[guard.MARK], marks, environment),
        folder,
        played.priorities,
    )


def faults_of(played: Played, machine: Machine) -> tuple[tuple[float, Strike], ...]:
    """Return (at_s, what strikes) for all that a world does to its box, in order."""
    return tuple((float(act.at_s), Strike(machine, act)) for act in played.acts)


def workers_of(replica: Replica) -> list[int]:
    """Return the processes of a replica that run on its GPUs, in order of rank: vLLM names them in their titles."""
    if replica.server is None:
        return []
    own = f"{replica.server.process.pid}."
    titles = {
        each.pid: guard.title(each.pid)
        for each in guard.processes()
        if guard.environment(each.pid).get(guard.NUMBER, "").startswith(own)
    }
    ranks = sorted(_ranked(titles))
    alone = [pid for pid, said in titles.items() if said.startswith(_ALONE)]
    return [pid for _, pid in ranks] or alone


def _ranked(titles: Mapping[int, str]) -> Iterator[tuple[int, int]]:
    for pid, said in titles.items():
        found = _WORKER.search(said)
        if found:
            yield int(found[1]), pid
