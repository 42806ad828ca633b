"""Celery tasks: one call each, one integer each. The row is the truth; a message may be lost or come twice."""

from celery import shared_task
from django.conf import settings

from courseware.studio import serving
from labs import errands, live_sweep, worker
from labs.models import DraftProof, Remarking, WithoutRun

PROOF_LIMIT_S = 1800
"""A draft's proof takes minutes, where any other task takes seconds."""
HOLD_MARGIN_S = 60
"""A lease ends by its own clocks, this long before its task would be ended from outside."""


@shared_task
def execute_action(action_id: int) -> None:
    serving.look()
    worker.execute_action(action_id)


@shared_task
def tend_actions() -> None:
    worker.tend()
    errands.tend(DraftProof, Remarking, WithoutRun)


@shared_task
def carry_on_remarking(remarking_id: int) -> None:
    serving.look()
    from labs import remarker  # noqa: PLC0415  (numpy is loaded by the workers that mark)

    remarker.carry_on(remarking_id)


@shared_task
def carry_on_without_run(run_id: int) -> None:
    serving.look()
    from labs import without_runs  # noqa: PLC0415  (numpy is loaded by the workers that mark)

    without_runs.carry_on(run_id)


@shared_task(soft_time_limit=PROOF_LIMIT_S, time_limit=PROOF_LIMIT_S + 15)
def carry_on_draft_proof(proof_id: int) -> None:
    serving.look()
    from labs import draft_proofs  # noqa: PLC0415  (numpy is loaded by the workers that prove)

    draft_proofs.carry_on(proof_id)


@shared_task
def tend_leases() -> None:
    live_sweep.tend()


# Acknowledged at once: the row says who is next, so a message that comes again, or not at all, does no harm, and one
# that waits for its acknowledgement for an hour would.
@shared_task(
    acks_late=False,
    soft_time_limit=settings.LIVE_LONGEST_S + HOLD_MARGIN_S,
    time_limit=settings.LIVE_LONGEST_S + 2 * HOLD_MARGIN_S,
)
def hold_lease(lease_id: int) -> None:
    serving.look()
    from labs import live_session  # noqa: PLC0415  (only the workers of a box drive engines)

    live_session.hold(lease_id)
