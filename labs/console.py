"""A typed line becomes a :class:`Command`, or a :class:`Refusal` that helps.

Nothing here is ever handed to a shell: the line is split by our own small grammar, ``source | filter | filter``,
and what is not understood is answered and charged nothing.
"""

from __future__ import annotations

import difflib
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_LINE_CHARACTERS = 400
MAX_WAIT_S = 1800
_DURATION = re.compile(r"^(\d{1,4})(s|m|min)?$")


@dataclass(frozen=True)
class Filter:
    """One ``| grep``, ``| head``, ``| tail`` or ``| wc -l`` behind a source."""

    name: str
    pattern: str = ""
    lines: int = 10
    invert: bool = False
    ignore_case: bool = False


@dataclass(frozen=True)
class Command:
    """What to do: ``verb`` is one of VERBS; ``target`` and ``options`` say with what."""

    verb: str
    target: str = ""
    options: dict[str, str] = field(default_factory=dict)
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """Why a line was not understood, and what would be."""

    message: str


VERBS = {
    "metrics": "the engine's /metrics",
    "promql": "one PromQL expression",
    "nvidia-smi": "what the driver counts",
    "dcgm": "what DCGM counts",
    "engine-log": "the engine's log",
    "request-log": "the gateway's request log",
    "steps": "what the engine's steps were made of",
    "kv-ledger": "who holds the KV blocks",
    "flags": "the flags that the engine runs with",
    "wait": "let incident time pass",
    "verify": "measure what raised the alarm again, over a window",
    "restart": "restart the engine with other flags",
    "shed": "answer 429 to a share of requests at the router",
    "limit-max-tokens": "cap max_tokens at the gateway",
    "add-replica": "bring up the standby replica",
    "restart-router": "restart the router",
    "undo": "take a change back",
    "help": "what this console knows",
}

ENGINE_FLAGS = {
    "--max-num-seqs": "an integer from 1 to 1024",
    "--kv-cache-dtype": "auto or fp8",
    "--watermark": "a share from 0 to 0.5",
    "--max-num-batched-tokens": "an integer from 64 to 65536",
    "--scheduler-reserve-full-isl": "no value",
    "--no-scheduler-reserve-full-isl": "no value",
    "--enable-chunked-prefill": "no value",
    "--no-enable-chunked-prefill": "no value",
}

_ELSEWHERE = {
    "kubectl": "There is no kubectl here; the placement does not move in this lab. `nvidia-smi` shows the four GPUs",
    "docker": "The engine is no container here; `restart` restarts it with the flags that you give",
    "ssh": "You are on the node already",
    "sudo": "No sudo is needed: every command that this console knows may be typed as it is",
    "systemctl": "`restart` restarts the engine, `restart-router` the router",
    "ps": "`flags` shows the flags that the engine runs with, free of charge",
    "top": "`nvidia-smi` shows the GPUs, `steps` shows what the engine does with them",
    "htop": "`nvidia-smi` shows the GPUs, `steps` shows what the engine does with them",
    "py-spy": "Profilers come with another lab; `steps --last 60s` shows what each step was made of",
    "nsys": "Profilers come with another lab; `steps --last 60s` shows what each step was made of",
    "ls": "The files that you can read are /var/log/vllm/engine.log and the request log: `tail /var/log/vllm/engine.log`, `request-log`",
    "vim": "Nothing can be edited here; flags are given to `restart`",
    "vi": "Nothing can be edited here; flags are given to `restart`",
    "kill": "`restart` stops the engine and starts it again; nothing else can be killed",
    "rm": "Nothing can be deleted here",
    "python": "There is no interpreter here; `help` lists the commands",
    "bash": "There is no shell behind this console; `help` lists the commands",
    "sh": "There is no shell behind this console; `help` lists the commands",
    "sleep": "`wait 5m` lets incident time pass",
    "watch": "Each reading costs its time; take one, `wait 1m`, take another",
    "vllm": "`restart --max-num-seqs 64` restarts the engine with a flag",
}

_SHELL_SIGNS = re.compile(r"[;&<>`]|\$\(|\|\|")


def parse(line: str) -> Command | Refusal:
    """Return what a typed line asks for.

    Never raises: a line that is not understood gives a Refusal whose message says what would be.
    """
    text = line.strip().removeprefix("$ ").strip()
    if not text:
        return Refusal("Type a command, or `help` for the list.")
    if len(text) > MAX_LINE_CHARACTERS:
        return Refusal(
            f"That line has {len(text)} characters; this console reads {MAX_LINE_CHARACTERS} at most."
        )
    if any(ord(character) < ord(" ") for character in text):
        return Refusal("One line at a time, please, without control characters.")
    try:
        stages = _split(text)
    except ValueError as exc:
        return Refusal(f"The quotes in that line do not match ({exc}). Close them and try again.")
    if any(not stage for stage in stages):
        return Refusal(
            "A pipe needs a command on both sides: `curl -s localhost:8000/metrics | grep kv_cache`."
        )
    unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "", text)
    sign = _SHELL_SIGNS.search(unquoted)
    if sign and not _is_bare_url(stages[0]):
        return Refusal(
            f"There is no shell here, so `{sign.group()}` means nothing. One command at a time; `|` to grep, head, tail or wc."
        )
    filters: list[Filter] = []
    for stage in stages[1:]:
        parsed = _filter(stage)
        if isinstance(parsed, Refusal):
            return parsed
        filters.append(parsed)
    return _source(stages[0], tuple(filters))


def _split(text: str) -> list[list[str]]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    stages: list[list[str]] = [[]]
    for token in lexer:
        if token == "|":  # noqa: S105
            stages.append([])
        else:
            stages[-1].append(token)
    return stages


def _is_bare_url(words: list[str]) -> bool:
    """Tell an unquoted address with & in its query, which people do type, from a shell line."""
    return words[0] == "curl" and any("?" in word for word in words)


def _source(words: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    name, arguments = words[0], words[1:]
    if name == "grep":
        return _grep_file(arguments, filters)
    if name in {"tail", "cat", "head", "less"} and arguments:
        return _read_file(name, arguments, filters)
    reader = _READERS.get(name)
    if reader is not None:
        return reader(arguments, filters)
    if name in _ELSEWHERE:
        return Refusal(_ELSEWHERE[name] + ".")
    known = sorted({*_READERS, "grep", "tail"})
    near = difflib.get_close_matches(name, known, n=1)
    hint = (
        f"Did you mean `{near[0]}`?"
        if near
        else f"It has {', '.join(f'`{word}`' for word in known)}."
    )
    return Refusal(f"This console has no `{name[:40]}`. {hint}")


def _curl(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    urls = [word for word in arguments if not word.startswith("-")]
    flags = [word for word in arguments if word.startswith("-")]
    unknown = [
        flag for flag in flags if flag not in {"-s", "-sS", "-S", "-sf", "-f", "-G", "--silent"}
    ]
    if unknown:
        return Refusal(
            f"curl: this console knows -s and nothing else; take out `{unknown[0][:40]}`."
        )
    if len(urls) != 1:
        return Refusal("curl: give it one address: `curl -s localhost:8000/metrics`.")
    address = urls[0] if "://" in urls[0] else f"http://{urls[0]}"
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return Refusal(
            f"curl: `{urls[0][:60]}` is no address. `curl -s localhost:8000/metrics` is one."
        )
    if host not in {"localhost", "127.0.0.1"}:
        return Refusal(
            "curl: only localhost answers: 8000 is the engine, 9090 Prometheus, 9400 DCGM."
        )
    if port == 8000 and parts.path == "/metrics":  # noqa: PLR2004
        return Command("metrics", filters=filters)
    if port == 8000 and parts.path in {"/health", "/version"}:  # noqa: PLR2004
        return Command("metrics", target=parts.path, filters=filters)
    if port == 9400 and parts.path == "/metrics":  # noqa: PLR2004
        return Command("dcgm", filters=filters)
    if port == 9090 and parts.path == "/api/v1/query":  # noqa: PLR2004
        raw = parts.query
        queries = parse_qs(raw.replace("+", "%2B")).get("query", [])
        if len(queries) != 1:
            return Refusal(
                "curl: Prometheus wants one `query=`: `curl -s 'localhost:9090/api/v1/query?query=vllm:num_requests_waiting'`."
            )
        return Command("promql", target=unquote(queries[0]), filters=filters)
    return Refusal(
        "curl: nothing answers there. localhost:8000/metrics is the engine, localhost:9090/api/v1/query?query=… Prometheus, localhost:9400/metrics DCGM."
    )


def _promql(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if not arguments:
        return Refusal(
            "promql: give it an expression: `promql 'increase(vllm:num_preemptions_total[5m])'`."
        )
    return Command("promql", target=" ".join(arguments), filters=filters)


def _nvidia_smi(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if not arguments or arguments[0] == "dmon" or arguments[0].startswith("--query-gpu="):
        target = " ".join(arguments)
        return Command("nvidia-smi", target=target, filters=filters)
    return Refusal(
        "nvidia-smi: this lab has the plain table, `dmon`, and `--query-gpu=… --format=csv`."
    )


def _dcgm(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if arguments and arguments[0] not in {"dmon"}:
        return Refusal(
            "dcgmi: this lab has `dcgmi dmon`, the same counters as localhost:9400/metrics."
        )
    return Command("dcgm", filters=filters)


def _request_log(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    options: dict[str, str] = {"view": "summary", "last": "5m"}
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--last":
            seconds = _duration(words.pop(0) if words else "")
            if seconds not in {300, 720}:
                return Refusal(
                    "request-log: --last takes 5m or 12m, the two windows that the gateway keeps."
                )
            options["last"] = "5m" if seconds == 300 else "12m"  # noqa: PLR2004
        elif word in {"--summary", "--gaps", "--waiting"}:
            options["view"] = word.removeprefix("--")
        else:
            return Refusal(
                _unknown("request-log", word, ["--last", "--summary", "--gaps", "--waiting"])
            )
    return Command("request-log", options=options, filters=filters)


def _steps(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if arguments not in ([], ["--last", "60s"], ["--last", "1m"]):
        return Refusal("steps: it logs one minute of steps: `steps --last 60s`.")
    return Command("steps", filters=filters)


def _kv_ledger(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if arguments:
        return Refusal(_unknown("kv-ledger", arguments[0], []))
    return Command("kv-ledger", filters=filters)


def _wait(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    seconds = _duration(arguments[0]) if len(arguments) == 1 else None
    if filters or not seconds or seconds > MAX_WAIT_S:
        return Refusal("wait: say how long, up to 30 minutes: `wait 5m`, `wait 90s`.")
    return Command("wait", options={"seconds": str(seconds)})


def _verify(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if arguments or filters:
        return Refusal(
            "verify takes no argument: it measures p95 TTFT and the longest gap over five minutes."
        )
    return Command("verify")


def _restart(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if filters:
        return Refusal("restart prints nothing to filter.")
    options: dict[str, str] = {}
    words = [
        part
        for word in arguments
        for part in (word.split("=", 1) if word.startswith("--") else [word])
    ]
    while words:
        flag = words.pop(0)
        if flag not in ENGINE_FLAGS:
            return Refusal(_unknown("restart", flag, sorted(ENGINE_FLAGS)))
        if ENGINE_FLAGS[flag] == "no value":
            options[flag] = ""
        else:
            value = words.pop(0) if words else ""
            if not _flag_value_is_good(flag, value):
                return Refusal(f"restart: {flag} takes {ENGINE_FLAGS[flag]}, not `{value[:40]}`.")
            options[flag] = value
    for name in ("scheduler-reserve-full-isl", "enable-chunked-prefill"):
        if f"--{name}" in options and f"--no-{name}" in options:
            return Refusal(f"restart: --{name} and --no-{name} contradict each other.")
    return Command("restart", options=options)


def _flag_value_is_good(flag: str, value: str) -> bool:
    if flag == "--kv-cache-dtype":
        return value in {"auto", "fp8"}
    if flag == "--watermark":
        return re.fullmatch(r"0?\.\d{1,4}|0", value) is not None and float(value) <= 0.5  # noqa: PLR2004
    low, high = (1, 1024) if flag == "--max-num-seqs" else (64, 65536)
    return re.fullmatch(r"\d{1,6}", value, re.ASCII) is not None and low <= int(value) <= high


def _shed(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    value = arguments[0].removesuffix("%") if len(arguments) == 1 else ""
    if filters or re.fullmatch(r"\d{1,3}", value, re.ASCII) is None or not 1 <= int(value) <= 100:  # noqa: PLR2004
        return Refusal("shed: say which share gets a 429: `shed 20%`.")
    return Command("shed", options={"percent": str(int(value))})


def _limit_max_tokens(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    value = arguments[0] if len(arguments) == 1 else ""
    if filters or re.fullmatch(r"\d{1,5}", value, re.ASCII) is None or not 1 <= int(value) <= 16384:  # noqa: PLR2004
        return Refusal(
            "limit-max-tokens: give a number of tokens from 1 to 16384: `limit-max-tokens 1200`."
        )
    return Command("limit-max-tokens", options={"tokens": str(int(value))})


def _bare(name: str) -> _Reader:
    def read(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
        if arguments or filters:
            return Refusal(f"{name} takes no argument.")
        return Command(name)

    return read


def _undo(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    value = arguments[0] if len(arguments) == 1 else ""
    if filters or re.fullmatch(r"\d{1,3}", value, re.ASCII) is None:
        return Refusal("undo: give the number of the change to take back: `undo 7`.")
    return Command("undo", options={"number": str(int(value))})


def _help(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    return Command("help", target=arguments[0][:40] if arguments else "", filters=filters)


def _grep_file(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    parsed = _filter(["grep", *arguments[:-1]]) if len(arguments) > 1 else None
    if parsed is None or not arguments[-1].endswith("engine.log"):
        return Refusal(
            "grep: give it a pattern and the file /var/log/vllm/engine.log, or put it behind a pipe."
        )
    if isinstance(parsed, Refusal):
        return parsed
    return Command("engine-log", filters=(parsed, *filters))


def _read_file(name: str, arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if not arguments[-1].endswith("engine.log"):
        return Refusal(f"{name}: the file here is /var/log/vllm/engine.log.")
    options = arguments[:-1]
    if name in {"cat", "less"}:
        if options:
            return Refusal(f"{name}: it takes the file and nothing else.")
        return Command("engine-log", filters=filters)
    cut = _filter([name, *options])
    if isinstance(cut, Refusal):
        return cut
    return Command("engine-log", filters=(cut, *filters))


def _filter(words: list[str]) -> Filter | Refusal:
    name, arguments = words[0], list(words[1:])
    if name == "grep":
        return _grep(arguments)
    if name in {"head", "tail"}:
        count = 10
        if arguments and arguments[0] == "-n":
            arguments.pop(0)
        if arguments:
            text = arguments.pop(0).removeprefix("-n").removeprefix("-")
            if arguments or re.fullmatch(r"\d{1,4}", text, re.ASCII) is None:
                return Refusal(f"{name}: `{name} -n 20` is all it knows.")
            count = int(text)
        return Filter(name, lines=count)
    if name == "wc" and arguments == ["-l"]:
        return Filter("wc")
    if name in {"sort", "awk", "sed", "cut", "jq", "uniq", "xargs", "tee"}:
        return Refusal(f"There is no `{name}` here: a pipe goes to grep, head, tail or `wc -l`.")
    return Refusal(f"A pipe goes to grep, head, tail or `wc -l`, not to `{name[:40]}`.")


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
    """Return why a pattern is refused, or ''.

    Alternation, groups, classes, anchors, dots and at most two ``.*`` are enough for a console, and none of them
    can make a match slow; nested repeats can, so no other repeat is taken.
    """
    if len(pattern) > 120:  # noqa: PLR2004
        return "that pattern is longer than 120 characters."
    rest = pattern.replace("\\", "").replace(".*", "")
    if pattern.count(".*") > 2 or re.search(r"[*+?{]", rest):  # noqa: PLR2004
        return "patterns here have |, ( ), [ ], ^, $, . and at most two .* ; no other repeats."
    try:
        re.compile(_python_pattern(pattern))
    except re.error as exc:
        return f"that pattern does not parse: {exc}."
    return ""


def _python_pattern(pattern: str) -> str:
    return pattern.replace(r"\|", "|").replace(r"\(", "(").replace(r"\)", ")")


def filtered(text: str, filters: tuple[Filter, ...]) -> str:
    """Return ``text`` after its filters, line by line."""
    lines = text.splitlines()
    for item in filters:
        if item.name == "grep":
            matcher = re.compile(
                _python_pattern(item.pattern), re.IGNORECASE if item.ignore_case else 0
            )
            lines = [line for line in lines if (matcher.search(line) is None) == item.invert]
        elif item.name == "head":
            lines = lines[: item.lines]
        elif item.name == "tail":
            lines = lines[-item.lines :] if item.lines else []
        else:
            lines = [str(len(lines))]
    return "\n".join(lines)


def _duration(text: str) -> int | None:
    """Return the seconds in ``5m``, ``90s`` or ``90``, or None."""
    match = _DURATION.match(text)
    if match is None:
        return None
    return int(match.group(1)) * (60 if match.group(2) in {"m", "min"} else 1)


def _unknown(command: str, word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    if near:
        return f"{command}: no `{word[:40]}`. Did you mean `{near[0]}`?"
    takes = f"It takes {', '.join(known)}." if known else "It takes no argument."
    return f"{command}: no `{word[:40]}`. {takes}"


type _Reader = Callable[[list[str], tuple[Filter, ...]], Command | Refusal]

_READERS: dict[str, _Reader] = {
    "curl": _curl,
    "promql": _promql,
    "nvidia-smi": _nvidia_smi,
    "dcgmi": _dcgm,
    "request-log": _request_log,
    "steps": _steps,
    "kv-ledger": _kv_ledger,
    "wait": _wait,
    "verify": _verify,
    "restart": _restart,
    "shed": _shed,
    "limit-max-tokens": _limit_max_tokens,
    "add-replica": _bare("add-replica"),
    "restart-router": _bare("restart-router"),
    "flags": _bare("flags"),
    "undo": _undo,
    "help": _help,
}
