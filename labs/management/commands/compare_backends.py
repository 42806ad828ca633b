"""``manage.py compare_backends LAB [--seed N] [--json]``: the simulator against a real engine, on the same requests."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from labs import pool
from labs.catalogue import lab, live_keys
from labs.live import boxes, comparing, scenarios, servers
from labs.live.scraping import OtherMetrics
from labs.specs import LIVE

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from labs.live.comparing import Compared, Comparison
    from labs.live.comparison import Row, Scenario

UNITS = {
    "steps": ("steps", "{:,.0f}"),
    "preemptions": ("preemptions", "{:,.0f}"),
    "peak_waiting": ("most waiting", "{:,.0f}"),
    "peak_kv_usage": ("most of the pool in use", "{:.3f}"),
    "ttft_p50_s": ("TTFT p50, s", "{:.2f}"),
    "ttft_p95_s": ("TTFT p95, s", "{:.2f}"),
    "tokens_per_s": ("tokens/s", "{:.0f}"),
    "gap_p50_s": ("longest gap of a stream p50, s", "{:.3f}"),
    "gap_p95_s": ("longest gap of a stream p95, s", "{:.3f}"),
}


class Command(BaseCommand):
    help = "Run the same requests on the simulator, its step costs fitted here, and on a real engine; exit 1 if they differ by more than allowed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("lab", help=f"a lab that can run live, or {scenarios.STORM}")
        parser.add_argument(
            "--seed", type=int, default=1, metavar="N", help="the N-th admitted seed, from 1"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--store", metavar="FILE", help="write the table, as docs/simulator.md has it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        scenario = self._scenario(options["lab"], options["seed"])
        self._quiet = options["json"]
        with tempfile.TemporaryDirectory(prefix="compare-") as folder:
            try:
                box = boxes.box(settings.LIVE_PROFILE)
                found = comparing.compare(scenario, box, folder=Path(folder), tell=self._tell)
            except (servers.EngineError, boxes.BoxError, OtherMetrics, TimeoutError) as exc:
                raise CommandError(str(exc) or "The run did not end in time.") from exc
        if options["json"]:
            self.stdout.write(json.dumps(found.told(), indent=1))
        else:
            self.stderr.write("\r" + " " * 78 + "\r", ending="")
            self.stdout.write(table_of(found))
        if options["store"]:
            Path(options["store"]).write_text(table_of(found) + "\n", encoding="utf-8")
        if not all(each.holds for each in found.runs):
            raise SystemExit(1)

    def _scenario(self, name: str, position: int) -> Scenario:
        if name == scenarios.STORM:
            return scenarios.storm()
        key = name if name.endswith(LIVE) else f"{name}{LIVE}"
        if key not in live_keys():
            known = ", ".join([scenarios.STORM, *(each.removesuffix(LIVE) for each in live_keys())])
            raise CommandError(f"no live lab {name!r}; there are: {known}")
        try:
            seeds = pool.admitted(key)
        except pool.NotProved as exc:
            raise CommandError(str(exc)) from exc
        if not 1 <= position <= len(seeds):
            raise CommandError(
                f"--seed {position}: this lab has {len(seeds)} admitted seeds, from 1"
            )
        return scenarios.of_lab(lab(key), seeds[position - 1])

    def _tell(self, share: float, doing: str) -> None:
        if not self._quiet:
            self.stderr.write(f"\r{100 * share:3.0f} % {doing[:70]:72}", ending="")


def table_of(found: Comparison) -> str:
    """Return a comparison as Markdown, one table a run."""
    lines = [f"{found.scenario.title}."]
    for each in found.runs:
        lines += ["", *_run(each)]
    return "\n".join(lines)


def _run(compared: Compared) -> list[str]:
    fit = compared.fit
    met = ", ".join(map(str, compared.met))
    met = f" The first steps met {met} of the requests, in both." if compared.met else ""
    costs = (
        f"Step costs, fitted to {fit.steps} steps (median error {100 * fit.median_error:.0f} %) and times {fit.pace:.2f}, as measured right before and after: "
        f"{fit.base_ms:.1f} ms, {fit.sequence_ms:.2f} ms a sequence, {fit.prefill_ms_per_token:.3f} ms a prompt token, "
        f"{fit.kv_us_per_token:.2f} us a KV token.{met}"
    )
    head = f"| {compared.run.name}: {compared.run.title} | simulated | live | apart | allowed |"
    rule = "| --- | ---: | ---: | ---: | ---: |"
    return [head, rule, *map(_row, compared.rows), "", costs]


def _row(row: Row) -> str:
    title, form = UNITS[row.name]
    shown = ["none" if each is None else form.format(each) for each in (row.simulated, row.live)]
    apart = "" if row.apart is None else f"{100 * row.apart:+.0f} %" if row.apart else "equal"
    allowed = f"{100 * row.allowed:.0f} %" if row.allowed else "equal"
    missed = "" if row.holds else " **missed**"
    return f"| {title} | {shown[0]} | {shown[1]} | {apart}{missed} | {allowed} |"
