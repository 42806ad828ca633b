"""What stands at the head of a content file, and in the TOML beside it: read, or refused with file and key. Pure."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class ContentError(ValueError):
    """Content that cannot be shown; the message names the file and the line or key."""


def read_toml(path: Path, keys: Mapping[str, type], optional: Mapping[str, type]) -> dict[str, Any]:
    """Return a TOML file that has these keys. Raises ContentError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ContentError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ContentError(f"{path}: {error}") from error
    return checked(str(path), data, keys, optional)


def checked(
    where: str, data: dict[str, Any], keys: Mapping[str, type], optional: Mapping[str, type]
) -> dict[str, Any]:
    """Return the table if it has these keys, of these types. Raises ContentError, beginning with ``where``."""
    for key in data:
        if key not in keys and key not in optional:
            raise ContentError(
                f"{where}: {key}: unknown key; there are {', '.join({**keys, **optional})}"
            )
    for key, kind in {**keys, **optional}.items():
        if key not in data and key in keys:
            raise ContentError(f"{where}: {key}: missing")
        if key in data and type(data[key]) is not kind:
            raise ContentError(f"{where}: {key}: write a {kind.__name__}")
    return data


def head_and_lines(
    path: Path, keys: Mapping[str, type], optional: Mapping[str, type]
) -> tuple[dict[str, Any], int, list[str]]:
    """Return what stands between ``+++`` and ``+++``, the number of the line after it, and the lines from there on.

    Raises ContentError.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ContentError(f"{path}: {error}") from error
    if not lines or lines[0] != "+++" or "+++" not in lines[1:]:
        raise ContentError(f"{path}:1: begin with “+++”, {', '.join(keys)}, and “+++”")
    end = lines.index("+++", 1)
    try:
        head = tomllib.loads("\n".join(lines[1:end]))
    except tomllib.TOMLDecodeError as error:
        raise ContentError(f"{path}:1: {error}") from error
    return checked(f"{path}: +++", head, keys, optional), end + 2, lines[end + 1 :]
