"""Whether a lab has proved itself: what forbids to publish it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs import pool, proving
from labs.catalogue import lab

if TYPE_CHECKING:
    from collections.abc import Iterator


def why_not(key: str, *, today: bool) -> Iterator[str]:
    """Yield why a lab may not be served, in sentences; nothing if its proof holds.

    With ``today`` the proof must follow from today's rules of marking and plays too. The worlds are not run for it:
    what they do is taken from the lab's table, as ``prove`` noted it there.
    """
    spec = lab(key)
    where = f"{spec.slug}/{pool.PROOF}"
    try:
        pool.admitted(key)
        doing = pool.behaviour(key)
        found = pool.proof(key)
    except pool.NotProved as error:
        yield str(error)
        return
    hashes = {proving.proof_hash(spec, level, doing) for level in proving.LEVELS}
    if today and found["hash"] not in hashes:
        yield f"{where}: the lab, its plays or the rules have changed since it was proved; prove it again"
        return
    for line in proving.stored(key).lines:
        if line.verdict == "red":
            yield f"{where}: the proof fails: {line}"
