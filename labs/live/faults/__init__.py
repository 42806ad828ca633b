"""Faults by real means: what a world does to its hardware and engines, as commands, each with the one that undoes it.

Data, until ``performing`` does it: a dry run prints the same acts that a lease performs.
"""

from labs.live.faults.acts import Act, Cannot, Start

__all__ = ["Act", "Cannot", "Start"]
