"""A rubric as it is typed: items that are added, taken out and moved, and what is wrong with them. Nothing is lost."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from labs.rubrics import MOST_ITEMS, Item, Rubric, faults, unknown_names, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_FIELDS = ("key", "title", "points", "note")
_WHOLE = re.compile(r"[-−–]?\d{1,3}")
MOST_KEY_WORDS = 4


@dataclass(frozen=True)
class TypedItem:
    """One item as it stands in the form."""

    key: str
    title: str
    points: str
    note: str
    is_new: bool = False
    """Whether the edition that it is based on has no such item: then its key may still be chosen."""
    errors: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def has_errors(self) -> bool:
        return bool(self.errors)


@dataclass(frozen=True)
class RubricForm:
    """All that stands in the form."""

    items: tuple[TypedItem, ...]
    errors: tuple[str, ...] = ()
    """Of the rubric as a whole."""
    rubric: Rubric | None = None
    """What was typed, if nothing is wrong with it."""

    @property
    def digest(self) -> str:
        """What tells two typed rubrics apart: a preview holds for one of them."""
        said = written(self.rubric) if self.rubric else ""
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def shown(rubric: Rubric) -> RubricForm:
    """Return the form with a rubric as it stands."""
    return RubricForm(
        tuple(TypedItem(each.key, each.title, str(each.points), each.note) for each in rubric.items)
    )


def typed(data: Mapping[str, str], stands: Rubric) -> RubricForm:
    """Return what was sent, item by item in its order; at most one more than a rubric may hold."""
    items = []
    for place in range(MOST_ITEMS + 1):
        if f"title-{place}" not in data:
            continue
        said = {name: data.get(f"{name}-{place}", "").replace("\r\n", "\n") for name in _FIELDS}
        key = said["key"].strip()
        items.append(
            TypedItem(
                key=key,
                title=said["title"],
                points=said["points"].strip(),
                note=said["note"],
                is_new=stands.item(key) is None,
            )
        )
    return RubricForm(tuple(items))


def done(form: RubricForm, do: str) -> RubricForm | None:
    """Return the form after one of its buttons: add, remove-2, up-2, down-2; None for another word."""
    items = list(form.items)
    verb, _, number = do.partition("-")
    if do == "add":
        return replace(form, items=(*items, TypedItem("", "", "1", "", is_new=True)))
    place = int(number) if number.isascii() and number.isdecimal() and len(number) < 4 else -1  # noqa: PLR2004
    if verb not in {"remove", "up", "down"} or not 0 <= place < len(items):
        return None
    item = items.pop(place)
    if verb != "remove":
        items.insert(max(0, place - 1) if verb == "up" else place + 1, item)
    return replace(form, items=tuple(items))


def checked(form: RubricForm, stands: Rubric, names: Sequence[str]) -> RubricForm:
    """Return the form with its rubric, or with what is wrong, each place by itself.

    An item that is new gets its key from its title if none was typed. ``names``: the parameters that its texts may use.
    """
    errors: list[dict[str, list[str]]] = [{} for _ in form.items]
    items = []
    for place, each in enumerate(_with_keys(form.items)):
        points = _number(each.points)
        if points is None:
            errors[place]["points"] = ["A whole number, such as 2; −1 takes a point away."]
        items.append(
            Item(each.key, each.title.strip(), 1 if points is None else points, each.note.strip())
        )
    whole: list[str] = []
    rubric = Rubric(tuple(items))
    for fault in (*faults(rubric.items), *unknown_names(rubric, names)):
        if fault.place is None:
            whole.append(_sentence(fault.says))
        else:
            errors[fault.place].setdefault(fault.field, []).append(_sentence(fault.says))
    for place, says in _turned(rubric, stands):
        errors[place].setdefault("points", []).append(says)
    typed_items = tuple(
        replace(each, errors=found)
        for each, found in zip(_with_keys(form.items), errors, strict=True)
    )
    is_good = not whole and not any(errors)
    return RubricForm(typed_items, tuple(whole), rubric if is_good else None)


def _with_keys(items: Sequence[TypedItem]) -> list[TypedItem]:
    taken = {each.key for each in items}
    found = []
    for each in items:
        key = each.key
        if not key:
            words = re.findall(r"[a-z0-9]+", each.title.lower())[:MOST_KEY_WORDS]
            key = stem = "-".join(words) or "item"
            number = 2
            while key in taken:
                key, number = f"{stem}-{number}", number + 1
            taken.add(key)
        found.append(replace(each, key=key))
    return found


def _turned(rubric: Rubric, stands: Rubric) -> Iterator[tuple[int, str]]:
    """Yield the items that gave points and would take them away, or the other way round."""
    for place, item in enumerate(rubric.items):
        before = stands.item(item.key)
        if before is not None and before.takes_away != item.takes_away:
            yield (
                place,
                (
                    "It gave points and would take them, or the other way round: points that were given would change "
                    "their meaning. Take it out and add another."
                ),
            )


def _number(text: str) -> int | None:
    return int(text.replace("−", "-").replace("–", "-")) if _WHOLE.fullmatch(text) else None


def _sentence(says: str) -> str:
    return f"{says[0].upper()}{says[1:]}."
