"""``manage.py play_live LAB/live --world NAME``: carry a play out on this machine's real engine, and print its log."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from labs import incident, plays
from labs.catalogue import lab, live_keys
from labs.incident import clock
from labs.live import beginning, boxes, servers

if TYPE_CHECKING:
    from argparse import ArgumentParser

TELL_EVERY_S = 10.0


class Command(BaseCommand):
    help = "Carry out a script of a live lab on a real engine. It takes the minutes that the play takes, and both cores."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("lab", help="a lab that runs live: preemption-storm/live")
        parser.add_argument("--world", help="one of its hypotheses; the seed's own unless given")
        parser.add_argument("--as", dest="play", default="reference", metavar="PLAY")
        parser.add_argument("--seed", type=int, default=1_000_001)
        parser.add_argument("--log", type=Path, help="keep the engine's log in this folder")

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        key, world = options["lab"], options["world"]
        if key not in live_keys():
            raise CommandError(f"no live lab {key!r}; there are: {', '.join(live_keys())}")
        spec = lab(key)
        if world is not None and world not in spec.hypotheses:
            raise CommandError(f"no world {world!r}; there are: {', '.join(spec.hypotheses)}")
        if spec.live is None:
            raise CommandError(f"{key} says nothing of real engines")
        with tempfile.TemporaryDirectory() as scratch:
            folder = options["log"] or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            try:
                box = boxes.for_profile(boxes.box(spec.live.boxes[0]), spec.fleet.profile)
                waking = beginning.waking(
                    spec, options["seed"], box, folder=folder, hypothesis=world
                )
                self._play(waking, plays.load_play(key, options["play"]))
            except (boxes.BoxError, servers.EngineError, plays.PlayError) as exc:
                raise CommandError(str(exc)) from exc

    def _play(self, waking: incident.Incident, play: plays.Play) -> None:
        told_s = time.monotonic()

        def tell(share: float, doing: str) -> None:
            nonlocal told_s
            if time.monotonic() - told_s > TELL_EVERY_S:
                told_s = time.monotonic()
                self.stderr.write(f"  {share:4.0%} {doing}")

        try:
            beginning.begin(waking, tell)
            incident.advance(waking, 0, tell)
            healthy_s = waking.spec.timeline.healthy_from_s
            for at_s, value in incident.alarm_series(waking, from_s=healthy_s, every_s=10):
                self.stdout.write(f"{clock(at_s):>7}  {waking.spec.alarm_title}: {value}")
            log = plays.carry_out(beginning.at_now(waking), play, waking.world.hypothesis, tell)
            for entry in log:
                said = str(entry.outcome.get("text", "")).split("\n", 1)[0]
                self.stdout.write(f"{clock(entry.at_s):>7}  {entry.kind:9} {said[:120]}")
        finally:
            beginning.cluster_of(waking).close()
