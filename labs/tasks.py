"""Celery tasks: one call each, one integer each. The row is the truth; a message may be lost or come twice."""

from celery import shared_task

from courseware.studio import serving
from labs import errands, worker
from labs.models import DraftProof, Remarking, WithoutRun

PROOF_LIMIT_S = 1800
"""A draft's proof takes minutes, where any other task takes seconds."""


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
