"""Every test of a page has an attempt at hand, and no broker."""

from tests.labs.in_the_room import attempt, begun, marked, published, work

__all__ = ["attempt", "begun", "marked", "published", "work"]
