"""Doing acts: what undoes one is on disk before it is done, and is done whatever happens.

The ledger is ``labs.live.guard``'s: a lease's holder undoes it in its ``finally``, the guard of an engine when its worker
is gone, and the sweep of a box when it starts.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labs.live import guard
from labs.live.faults.acts import filled, values_of
from labs.live.faults.burner import PARENT
from labs.live.faults.means import LEASE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from labs.live.faults.acts import Act, Argv

LIMIT_S = 30.0
_PLACE = re.compile(r"\{(\d+)\}")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class ActError(Exception):
    """A command that failed; the message is a sentence, and whatever was done stands in the ledger."""


@dataclass
class Hands:
    """What acts are done with: the ledger of a lease, its marks, and the processes that stay."""

    ledger: Path
    lease: str
    marks: Mapping[str, str]
    """``guard.marks`` of the lease: the sweep knows its processes by them."""
    environment: Mapping[str, str]
    """What every command finds: PATH, and no secret of the site."""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def perform(self, act: Act) -> None:
        """Do an act's commands. Replicas that it starts otherwise (``act.starts``) are the caller's.

        Raises ActError; what a command before the failing one did is undone by the ledger.
        """
        read = self._read(act) if act.reads else ()
        values = values_of(act, read)
        for argv in act.undo:
            guard.record(self.ledger, self._told(argv, read, values))
        for argv in act.do:
            told = self._told(argv, read, values)
            if act.stays:
                self._start(told, act)
            else:
                self._run(told, act)

    def undo(self) -> list[str]:
        """Undo all that stands in the ledger, the last first; return a sentence for each that failed and stays in it."""
        problems = guard.undo(self.ledger)
        for each in self.processes:
            if each.poll() is not None:
                each.wait()
        self.processes = [each for each in self.processes if each.poll() is None]
        return problems

    def _told(self, argv: Argv, read: tuple[str, ...], values: tuple[int, ...]) -> list[str]:
        return [word.replace(LEASE, self.lease) for word in filled(argv, read, values)]

    def _env(self, act: Act) -> dict[str, str]:
        return {**self.environment, **self.marks, **dict(act.env)}

    def _read(self, act: Act) -> tuple[str, ...]:
        found = tuple(_NUMBER.findall(self._run(list(act.reads), act)))
        words = [word for argv in (*act.do, *act.undo) for word in argv]
        wanted = [int(each) for word in words for each in _PLACE.findall(word)]
        wanted += [number for _, number in act.at_least]
        if max(wanted, default=-1) >= len(found):
            raise ActError(
                f"“{' '.join(act.reads)}” does not say what would have to be set back; nothing was done."
            )
        return found

    def _run(self, argv: list[str], act: Act) -> str:
        said = " ".join(argv)
        try:
            done = subprocess.run(
                argv,
                env=self._env(act),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as exc:
            raise ActError(f"“{said}” could not be run: {exc}") from exc
        out = done.stdout.decode(errors="replace").strip()
        if done.returncode:
            why = (done.stderr.decode(errors="replace").strip() or out).splitlines()[-1:]
            raise ActError(f"“{said}” ended with status {done.returncode}: {' '.join(why)}")
        return out

    def _start(self, argv: list[str], act: Act) -> None:
        try:
            self.processes.append(
                subprocess.Popen(
                    argv,
                    env={**self._env(act), PARENT: str(os.getpid())},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
        except OSError as exc:
            raise ActError(f"“{' '.join(argv)}” could not be run: {exc}") from exc
