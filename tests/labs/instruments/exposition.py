"""Reads Prometheus' text format strictly, as a scraper would."""

import re
from dataclasses import dataclass, field

SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>[^}]*)\})? (?P<value>\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)')


@dataclass
class Family:
    help: str
    kind: str
    samples: list[tuple[str, dict[str, str], float]] = field(default_factory=list)


def read(text):
    """The families of an exposition by name. Raises AssertionError for a line that a scraper would drop."""
    families = {}
    current = ""
    lines = text.splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("# HELP "):
            _, _, current, words = line.split(" ", 3)
            assert current not in families, f"{current} comes twice"
            assert after.startswith(f"# TYPE {current} "), after
            families[current] = Family(words, after.rsplit(" ", 1)[1])
        elif not line.startswith("# TYPE "):
            match = SAMPLE.fullmatch(line)
            assert match, line
            assert re.fullmatch(rf"{re.escape(current)}(_bucket|_count|_sum)?", match["name"]), line
            labels = match["labels"] or ""
            assert LABEL.sub("", labels) == "", line
            families[current].samples.append(
                (match["name"], dict(LABEL.findall(labels)), float(match["value"]))
            )
    return families
