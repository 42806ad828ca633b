"""What a lab says of a real engine: what it needs of it, and what of ``lab.toml`` its scale replaces."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from labs.specs.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


class Live(Frozen):
    """What a lab needs of a box, and what its engine is started with beside the fleet's knobs."""

    boxes: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of ``labs/live/profiles`` at whose scale it is written."""
    about: str
    """What runs, in one sentence for whoever chooses between the simulator and this."""
    flags: tuple[str, ...] = ()
    """Flags of ``vllm serve`` that no knob of the fleet stands for."""
    asks: Literal["completions", "chat"] = "completions"
    """Whether its clients send token ids, or messages that the server's chat template writes out."""


WITHOUT = "without"


def merged(data: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return a lab's data with another's laid over it: tables key by key, everything else whole.

    ``without`` lists keys that go first, dots between tables. Raises KeyError for one that is not there.
    """
    whole = deepcopy(dict(data))
    for path in over.get(WITHOUT, ()):
        *tables, last = path.split(".")
        place: Any = whole
        try:
            for table in tables:
                place = place[table]
            del place[last]
        except (KeyError, TypeError):
            raise KeyError(path) from None
    _lay(whole, {key: value for key, value in over.items() if key != WITHOUT})
    return whole


def _lay(place: dict[str, Any], over: Mapping[str, Any]) -> None:
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(place.get(key), dict):
            _lay(place[key], value)
        else:
            place[key] = deepcopy(value)
