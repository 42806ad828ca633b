"""What a worker carries on for somebody: claimed, kept alive by a heartbeat, taken up again when that stops."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from django.db import models
from django.utils import timezone


class Errand(models.Model):
    """A row of work. Each kind has its own statuses; ``labs.errands`` moves them."""

    WORKING: ClassVar[tuple[str, ...]]
    """Statuses in which a worker has something to do."""
    FAILED: ClassVar[str]
    TASK: ClassVar[str]
    """The Celery task that takes its key."""
    PATIENCE: ClassVar[int] = 1
    """How many times as long as others its worker may be silent: its steps are that much longer."""

    status = models.CharField(max_length=10)
    tries = models.PositiveSmallIntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    """None: no worker has it."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    @property
    def is_under_way(self) -> bool:
        return self.status in self.WORKING

    @classmethod
    def rows(cls) -> models.QuerySet[Self]:
        """Return all errands of this kind."""
        return cls._default_manager.all()

    @classmethod
    def move(
        cls, pk: int, source: str, target: str, *, of_try: int | None = None, **fields: Any
    ) -> bool:
        """Move one row from ``source`` to ``target`` by one guarded UPDATE; False if it has left ``source``.

        With ``of_try`` only as long as it is with the worker whose try that is.
        """
        rows = cls.rows().filter(pk=pk, status=source)
        if of_try is not None:
            rows = rows.filter(tries=of_try)
        return rows.update(status=target, **fields) == 1
