"""The rows of the site, by what they are about."""

from courseware.models.cohorts import Announcement, Assignment, Cohort, Membership, Override
from courseware.models.people import SignInLink, User, UserManager

__all__ = [
    "Announcement",
    "Assignment",
    "Cohort",
    "Membership",
    "Override",
    "SignInLink",
    "User",
    "UserManager",
]
