"""What may stand behind a pipe: grep, head, tail, ``wc -l``."""

from __future__ import annotations

import re

from labs.console.commands import Filter, Refusal
from labs.console.patterns import Pattern, PatternError


def read_filter(words: list[str]) -> Filter | Refusal:
    """Return the filter of one stage."""
    name, arguments = words[0], list(words[1:])
    if name == "grep":
        return _grep(arguments)
    if name in {"head", "tail"}:
        return _cut(name, arguments)
    if name == "wc" and arguments == ["-l"]:
        return Filter("wc")
    if name in {"sort", "awk", "sed", "cut", "jq", "uniq", "xargs", "tee"}:
        return Refusal(f"There is no `{name}` here: a pipe goes to grep, head, tail or `wc -l`.")
    return Refusal(f"A pipe goes to grep, head, tail or `wc -l`, not to `{name[:40]}`.")


def _cut(name: str, arguments: list[str]) -> Filter | Refusal:
    count = 10
    if arguments and arguments[0] == "-n":
        arguments.pop(0)
    if arguments:
        text = arguments.pop(0).removeprefix("-n").removeprefix("-")
        if arguments or re.fullmatch(r"\d{1,4}", text, re.ASCII) is None:
            return Refusal(f"{name}: `{name} -n 20` is all it knows.")
        count = int(text)
    return Filter(name, lines=count)


def _grep(arguments: list[str]) -> Filter | Refusal:
    flags = [word for word in arguments if word.startswith("-") and len(word) > 1]
    patterns = [word for word in arguments if word not in flags]
    letters = "".join(flag.removeprefix("-") for flag in flags)
    unknown = sorted(set(letters) - set("Eiv"))
    if any(flag.startswith("--") for flag in flags) or unknown:
        return Refusal("grep: it knows -E, -i and -v.")
    if len(patterns) != 1 or not patterns[0]:
        return Refusal("grep: give it one pattern, in quotes if it has spaces.")
    problem = pattern_problem(patterns[0])
    if problem:
        return Refusal(f"grep: {problem}")
    return Filter("grep", pattern=patterns[0], invert="v" in letters, ignore_case="i" in letters)


def pattern_problem(pattern: str) -> str:
    """Return why a pattern is refused, or ''."""
    try:
        Pattern(pattern)
    except PatternError as exc:
        return str(exc)
    return ""


def filtered(text: str, filters: tuple[Filter, ...]) -> str:
    """Return ``text`` after its filters, line by line."""
    lines = text.splitlines()
    for item in filters:
        if item.name == "grep":
            pattern = Pattern(item.pattern, ignore_case=item.ignore_case)
            lines = [line for line in lines if pattern.search(line) != item.invert]
        elif item.name == "head":
            lines = lines[: item.lines]
        elif item.name == "tail":
            lines = lines[-item.lines :] if item.lines else []
        else:
            lines = [str(len(lines))]
    return "\n".join(lines)
