"""The information table of a lab, for the workers that mark: from its file, or computed here and kept by digest.

The file beside the spec is what ``prove`` wrote. After a change of simulator or spec it is another's; a worker
that needs the table then computes it seed by seed and stores each seed, so that a worker that is stopped half-way
leaves its work to the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs import pool, table_runs
from labs.digest import world_digest
from labs.models import InformationTable

if TYPE_CHECKING:
    from labs.incident import Progress
    from labs.marking.table import Table
    from labs.specs import LabSpec

SEEDS = 40


def table_for(spec: LabSpec, progress: Progress) -> Table:
    """Return the lab's information table.

    Raises RuntimeError if too few seeds qualify; whatever ``progress`` raises stops the work, and keeps it.
    """
    try:
        return pool.table(spec.key)
    except pool.NotProved:
        return computed(spec, progress)


def computed(spec: LabSpec, progress: Progress, *, seeds: int = SEEDS) -> Table:
    """Return the table as far as it is stored, computing what is missing."""
    row, _ = InformationTable.objects.get_or_create(
        lab_slug=spec.slug,
        digest=world_digest(spec.key),
        defaults={"next_seed": table_runs.TABLE_FROM},
    )
    while len(row.found) < seeds:
        progress(len(row.found) / seeds, f"Information table: {len(row.found)} of {seeds} seeds")
        if row.next_seed >= table_runs.TABLE_FROM + table_runs.MOST_TRIED:
            raise RuntimeError(f"{spec.slug}: only {len(row.found)} of {seeds} seeds qualify")
        rows = table_runs.seed_rows(spec, row.next_seed)
        found = row.found if isinstance(rows, str) else [*row.found, rows]
        # Another worker may compute the same table: whoever is first stores the seed.
        InformationTable.objects.filter(pk=row.pk, next_seed=row.next_seed).update(
            next_seed=row.next_seed + 1, found=found
        )
        row.refresh_from_db()
    return table_runs.table_of(spec, row.found[:seeds])
