"""The rows of the labs, by what they are about."""

from labs.models.attempts import Action, Attempt, next_seq
from labs.models.draft_proofs import DraftProof
from labs.models.leases import BoxPulse, Lease
from labs.models.marks import KeptReruns, MarkChange, MarkOverride, PlannedMark, Remarking
from labs.models.reading_rules import ReadingRules
from labs.models.regrades import RegradeRequest
from labs.models.reviews import GraderSettings, PointsChange, Review, ReviewOutcome, ReviewReturn
from labs.models.rubrics import ReviewRecord, RubricEdition, RubricMove
from labs.models.training import TrainingAnswer, TrainingCase, TrainingRun
from labs.models.without_runs import WithoutRun
from labs.models.work import Checkpoint, InformationTable, LiveRecord, Outbox

__all__ = [
    "Action",
    "Attempt",
    "BoxPulse",
    "Checkpoint",
    "DraftProof",
    "GraderSettings",
    "InformationTable",
    "KeptReruns",
    "Lease",
    "LiveRecord",
    "MarkChange",
    "MarkOverride",
    "Outbox",
    "PlannedMark",
    "PointsChange",
    "ReadingRules",
    "RegradeRequest",
    "Remarking",
    "Review",
    "ReviewOutcome",
    "ReviewRecord",
    "ReviewReturn",
    "RubricEdition",
    "RubricMove",
    "TrainingAnswer",
    "TrainingCase",
    "TrainingRun",
    "WithoutRun",
    "next_seq",
]
