"""The rows of the site, by what they are about."""

from courseware.models.cohorts import Announcement, Assignment, Cohort, Membership, Override
from courseware.models.people import SignInLink, User, UserManager
from courseware.models.versions import ContentBlob, ContentStamp, Version

__all__ = [
    "Announcement",
    "Assignment",
    "Cohort",
    "ContentBlob",
    "ContentStamp",
    "Membership",
    "Override",
    "SignInLink",
    "User",
    "UserManager",
    "Version",
]
