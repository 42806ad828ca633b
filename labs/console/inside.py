"""The lines that read or change what is special within the engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.console.commands import Reader

READERS: dict[str, Reader] = {}
VERBS: dict[str, str] = {}
"""Verb of a command -> what it is, in the words of ``help``."""
