"""How fast the simulator runs two public loads, on one core, and whether its cost stays linear."""

import json
import subprocess
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

SEED = 1
TARGETS = {"azure": 700, "poisson": 1500}
"""Simulated seconds per second."""
PEAK_LIMIT_MIB = 500
LINEAR_TOLERANCE = 1.25
"""Four times the requests may take at most five times the time."""
GROWTH = (5_000, 10_000, 20_000)


class Command(BaseCommand):
    """``manage.py bench_simulator [--json]``: exit 1 if a target is missed."""

    help = "Measure the simulator on public loads: simulated seconds per second, memory, growth."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the format and the seed."""
        parser.add_argument("--json", action="store_true", help="one JSON object")
        parser.add_argument("--seed", type=int, default=SEED)

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run every load in a process of its own, and judge."""
        seed = options["seed"]
        growth = [measured("poisson", count, seed) for count in GROWTH]
        results = [measured("azure", 2_000, seed), growth[-1]]
        verdicts = judged(results, growth)
        if options["json"]:
            self.stdout.write(
                json.dumps({"results": results, "growth": growth, "verdicts": verdicts}, indent=1)
            )
        else:
            self.stdout.write("\n".join(lines(results, growth, verdicts)))
        if not all(verdicts.values()):
            raise SystemExit(1)


def measured(load: str, count: int, seed: int) -> dict[str, Any]:
    """Run one load alone, three times, and return the fastest: noise only slows."""
    return min((_once(load, count, seed) for _ in range(3)), key=lambda result: result["took_s"])


def _once(load: str, count: int, seed: int) -> dict[str, Any]:
    """Run one load in a process; see ``benchmarks.public_loads``. Raises CommandError if it fails."""
    command = [sys.executable, "-m", "benchmarks.public_loads", load, str(count), str(seed)]
    done = subprocess.run(
        command, cwd=settings.BASE_DIR, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CommandError(f"{' '.join(command[1:])} failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def judged(results: list[dict[str, Any]], growth: list[dict[str, Any]]) -> dict[str, bool]:
    """Return each target and whether it is met."""
    verdicts = {
        f"{result['load']} at least {TARGETS[result['load']]} simulated s/s": bool(
            result["simulated_s_per_s"] >= TARGETS[result["load"]]
        )
        for result in results
    }
    verdicts[f"peak memory at most {PEAK_LIMIT_MIB} MiB"] = all(
        result["peak_mib"] <= PEAK_LIMIT_MIB for result in results
    )
    first, last = growth[0], growth[-1]
    allowed = LINEAR_TOLERANCE * last["requests"] / first["requests"]
    verdicts["no growth worse than linear"] = bool(last["took_s"] <= allowed * first["took_s"])
    return verdicts


def lines(
    results: list[dict[str, Any]], growth: list[dict[str, Any]], verdicts: dict[str, bool]
) -> list[str]:
    """Return the report for people."""
    found = [f"simulator {results[0]['version']}, Python {results[0]['python']}, one core"]
    for result in results:
        found.append(
            f"{result['load']}: {result['requests']:,} requests, seed {result['seed']}: "
            f"{result['simulated_s']:,.0f} s in {result['took_s']:.2f} s: "
            f"{result['simulated_s_per_s']:,} simulated s/s, peak {result['peak_mib']} MiB"
        )
        found.append(
            f"  {result['steps']:,} steps, {result['preemptions']:,} preemptions, "
            f"TTFT p50 {1000 * result['ttft_p50_s']:.0f} ms, p95 {1000 * result['ttft_p95_s']:.0f} ms, "
            f"TPOT p50 {1000 * result['tpot_p50_s']:.1f} ms"
        )
        found.append(f"  sha256 {result['sha256']}")
    took = ", ".join(f"{each['requests']:,} in {each['took_s']:.2f} s" for each in growth)
    found.append(f"growth: {took}")
    found += [f"{'met   ' if is_met else 'MISSED'} {name}" for name, is_met in verdicts.items()]
    return found
