"""A typed line becomes a :class:`Command`, or a :class:`Refusal` that helps.

Nothing here is ever handed to a shell: the line is split by our own small grammar, ``source | filter | filter``,
and what is not understood is answered and charged nothing.
"""

from labs.console.changes import ENGINE_FLAGS
from labs.console.commands import MAX_LINE_CHARACTERS, Command, Filter, Refusal
from labs.console.filters import filtered, pattern_problem
from labs.console.parse import VERBS, parse
from labs.console.readings import KEPT
from labs.console.windows import FAST

__all__ = [
    "ENGINE_FLAGS",
    "FAST",
    "KEPT",
    "MAX_LINE_CHARACTERS",
    "VERBS",
    "Command",
    "Filter",
    "Refusal",
    "filtered",
    "parse",
    "pattern_problem",
]
