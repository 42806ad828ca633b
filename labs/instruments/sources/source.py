"""What a command of the console reads: its instrument, its text, and the lines that show a signal.

A source is known by the verb of its command. Its key names the entry of a lab's instruments that has the price. A
signal counts as read when a line that shows it is still there after the filters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labs.console import Command
    from labs.instruments.signals import View

type Marks = Mapping[str, str]
"""Regular expression of a line -> the signal that it shows."""


class NotMeasured(ValueError):  # noqa: N818
    """An instrument that refuses; the message helps, and nothing is charged."""


@dataclass(frozen=True)
class Source:
    """One verb that measures."""

    key: Callable[[Command], str]
    """Return the instrument's key in a lab's spec. Raises NotMeasured for a view that does not exist."""
    text: Callable[[View, Command], str]
    """Return the whole answer. Raises NotMeasured for what cannot be shown."""
    marks: Callable[[Command], Marks]
    last_line_only: bool = False
    """Whether only the last line shows what is, and earlier ones what was."""


def always[T](value: T) -> Callable[[Command], T]:
    return lambda command: value
