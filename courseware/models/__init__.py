"""The rows of the site, by what they are about."""

from courseware.models.cohorts import Announcement, Assignment, Cohort, Membership, Override
from courseware.models.drafts import Draft, DraftState
from courseware.models.people import SignInLink, User, UserManager
from courseware.models.versions import ContentBlob, ContentStamp, Version

__all__ = [
    "Announcement",
    "Assignment",
    "Cohort",
    "ContentBlob",
    "ContentStamp",
    "Draft",
    "DraftState",
    "Membership",
    "Override",
    "SignInLink",
    "User",
    "UserManager",
    "Version",
]
