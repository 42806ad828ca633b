"""One example of each kind of check that no lesson asks yet, as an author writes it."""

from pathlib import Path

from lessons import content
from lessons.content import Lesson

MATCH = """\
Which ledger line fills in each failure?

- it fails while loading => the weights of one shard
  > Nothing is served yet, so nothing that requests bring can have grown.
  - the KV pool
    > The pool is big, so it looks guilty. But it is cut only after the weights lie there.
- it fails once requests are preempted => the KV pool
  > Preemption frees blocks of one ledger line only.
- it fails now and then at any load => the workspace of one step
  > What comes and goes within a step is no lasting line.
- => the allocator's reserve
> Phase first, ledger second."""

ORDER = """\
In which order does an engine take its memory?

1. the weights
2. the peak of one trial forward pass
   > A pass needs something to run.
3. the captured graphs
   > What is captured has run once before.
4. the KV pool
   > It gets what all others have left.
> The pool is the rest, so it comes last."""

TEXT = """\
Which flag caps how many sequences run at once?

- [x] `--max-num-seqs`
- [x] max_num_seqs
- [ ] `--max-num-batched-tokens`
  > It caps tokens in a step, and a sequence may take many of them.
- otherwise
  > Look for the flag whose unit is sequences.
> Each running sequence holds its blocks until it ends."""

NUMBER = """\
How many requests arrive a second?

? All who wait have come since the oldest of them did.
? 47 wait, and the oldest came 1.1 s ago.

- 47
  > That is how many wait.
- otherwise
  > Divide those who wait by how long they wait.
> Little's law."""

OPTIONS = {
    "match": {"kind": "match"},
    "order": {"kind": "order"},
    "text": {"kind": "text"},
    "number": {
        "kind": "number",
        "answer": "43",
        "within": "2 %",
        "unit": "/s",
        "tries": "3",
        "wait": "5 s",
    },
}
BODIES = {"match": MATCH, "order": ORDER, "text": TEXT, "number": NUMBER}


def block(kind: str) -> str:
    """Return the block as it stands in a station; its id is ``a-<kind>``."""
    options = "".join(f"    {name}: {value}\n" for name, value in OPTIONS[kind].items())
    return f"/// check | a-{kind}\n{options}\n{BODIES[kind]}\n///\n"


STATION = """\
+++
title = "Kinds of checks"
short = "Kinds"
minutes = 3
+++

/// in-short
Short.
///

## All of them

{blocks}
/// analogy | In the kitchen
Words.
///

/// takeaway
Keep.
///
"""


def lesson_of_kinds(root: Path) -> Lesson:
    """Write a course of one lesson, ``kinds``, whose station ``asked`` has them all, and read it."""
    folder = root / "01-unit" / "01-kinds"
    folder.mkdir(parents=True)
    (root / "01-unit" / "unit.toml").write_text('title = "Unit"')
    (folder / "lesson.toml").write_text('title = "Kinds"\nnumber = 1\ngoal = "To be asked."\n')
    blocks = "\n".join(block(kind) for kind in BODIES)
    (folder / "01-asked.md").write_text(STATION.format(blocks=blocks))
    return content.lessons(root)["kinds"]
