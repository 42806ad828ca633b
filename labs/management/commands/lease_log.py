"""``manage.py lease_log [LEASE]``: what became of a lease, and the end of its engine's log; or the last leases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from labs import live_sweep
from labs.lease_words import span
from labs.models import Lease

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from datetime import datetime

LISTED = 20


class Command(BaseCommand):
    help = (
        "Print what became of a lease and the last 200 lines of its engine's log; "
        "without a lease, list the last ones."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("lease", nargs="?", help="its public id, or the first characters of it")

    def handle(self, **options: Any) -> None:
        rows = Lease.objects.select_related("attempt").order_by("-requested_at", "-pk")
        if not options["lease"]:
            found = list(rows[:LISTED])
            self.stdout.write("\n".join(map(_line, found)) if found else "There is no lease yet.")
            return
        lease = _one(options["lease"])
        self.stdout.write(f"{_line(lease)}\n{_told(lease)}")
        log = lease.engine_log
        if not log and lease.log_path:
            log = live_sweep.tail(Path(lease.log_path))
        self.stdout.write(log or "No log of its engine is kept.")


def _one(begin: str) -> Lease:
    try:
        rows = Lease.objects.filter(public_id=begin)
    except ValidationError:
        hexadecimal = begin.replace("-", "").lower()
        every = Lease.objects.values_list("pk", "public_id").order_by("-pk")
        rows = Lease.objects.filter(
            pk__in=[pk for pk, each in every if each.hex.startswith(hexadecimal)]
        )
    found = list(rows.select_related("attempt")[:2])
    if not found:
        raise CommandError(
            f"there is no lease {begin}; without one, this command lists the last {LISTED}"
        )
    if len(found) > 1:
        raise CommandError(f"more than one lease begins with {begin}: write more of it")
    return found[0]


def _line(lease: Lease) -> str:
    held = (
        lease.claimed_at and ((lease.ended_at or timezone.now()) - lease.claimed_at).total_seconds()
    )
    parts = (
        f"{timezone.localtime(lease.requested_at):%Y-%m-%d %H:%M:%S}",
        str(lease.public_id),
        lease.end_reason or lease.status,
        lease.attempt.lab_slug,
        f"on {lease.box}" if lease.box else "no box",
        f"held {span(held)}" if held else "not held",
    )
    return "  ".join(parts)


def _told(lease: Lease) -> str:
    moments = {
        "asked": lease.requested_at,
        "claimed": lease.claimed_at,
        "ready": lease.ready_at,
        "heard of": lease.heartbeat_at,
        "ended": lease.ended_at,
    }
    lines = [f"  {name:<9}{_clock(at)}" for name, at in moments.items() if at]
    lines.append(f"  tries    {lease.tries}, extensions {lease.extensions}")
    if lease.host:
        pids = ", ".join(f"{name} {each[0]}" for name, each in lease.pids.items())
        lines.append(f"  host     {lease.host}: {pids or 'no process noted'}")
    if lease.log_path:
        lines.append(f"  log      {lease.log_path}")
    if lease.end_text:
        lines.append(f"  said     {lease.end_text}")
    return "\n".join(lines)


def _clock(at: datetime) -> str:
    return f"{timezone.localtime(at):%H:%M:%S}"
