"""From a typed line to what it asks for."""

from __future__ import annotations

import difflib
import unicodedata

from labs.console import changes, endings, front, hardware, inside, memory, readings
from labs.console.commands import (
    COMMON_VERBS,
    MAX_LINE_CHARACTERS,
    Command,
    Filter,
    Reader,
    Refusal,
    bare,
)
from labs.console.filters import read_filter
from labs.console.words import OpenQuoteError, split

_ELSEWHERE = {
    "kubectl": "There is no kubectl here. `nvidia-smi` shows the GPUs; where a lab has several replicas, `topo -m` shows what each was given",
    "docker": "The engine is no container here; `restart` restarts it with the flags that you give",
    "ssh": "You are on the node already",
    "sudo": "No sudo is needed: every command that this console knows may be typed as it is",
    "systemctl": "`restart` restarts the engine, `restart-router` the router",
    "ps": "`flags` shows the flags that the engine runs with, free of charge",
    "top": "`nvidia-smi` shows the GPUs, `steps` shows what the engine does with them",
    "htop": "`nvidia-smi` shows the GPUs, `steps` shows what the engine does with them",
    "py-spy": "Profilers come with another lab; `steps --last 60s` shows what each step was made of",
    "nsys": "Profilers come with another lab; `steps --last 60s` shows what each step was made of",
    "ls": "The files that you can read are /var/log/vllm/engine.log, or /var/log/sglang/server.log where SGLang serves, and the request log: `tail /var/log/vllm/engine.log`, `request-log`",
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


VERBS = {
    **COMMON_VERBS,
    **hardware.VERBS,
    **memory.VERBS,
    **front.VERBS,
    **endings.VERBS,
    **inside.VERBS,
    "startup-log": "what the engine said while it started",
    "nccl-log": "what NCCL said while the engine started",
    "access-log": "what the gateway answered, by status",
    "server-info": "SGLang's /server_info",
    "loads": "SGLang's /v1/loads",
    "sglang-log": "SGLang's log: prefill batches, decode batches, retractions",
}


def _help(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    return Command("help", target=arguments[0][:40] if arguments else "", filters=filters)


_READERS: dict[str, Reader] = {
    **readings.READERS,
    **changes.READERS,
    **hardware.READERS,
    **memory.READERS,
    **front.READERS,
    **endings.READERS,
    **inside.READERS,
    "flags": bare("flags"),
    "help": _help,
}


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
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in text):
        return Refusal("One line at a time, please, without control characters.")
    try:
        words = split(text)
    except OpenQuoteError as exc:
        return Refusal(f"The quote {exc} in that line is never closed. Close it and try again.")
    stages = words.stages
    if any(not stage for stage in stages):
        return Refusal(
            "A pipe needs a command on both sides: `curl -s localhost:8000/metrics | grep kv_cache`."
        )
    if words.shell_sign and not _is_bare_url(stages[0]):
        return Refusal(
            f"There is no shell here, so `{words.shell_sign}` means nothing. One command at a time; `|` to grep, head, tail or wc."
        )
    filters: list[Filter] = []
    for stage in stages[1:]:
        parsed = read_filter(stage)
        if isinstance(parsed, Refusal):
            return parsed
        filters.append(parsed)
    return _source(stages[0], tuple(filters))


def _is_bare_url(words: list[str]) -> bool:
    """Tell an unquoted address with & in its query, which people do type, from a shell line."""
    return words[0] == "curl" and any("?" in word for word in words)


def _source(words: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    name, arguments = words[0], words[1:]
    if name == "grep":
        return readings.grep_file(arguments, filters)
    if name in {"tail", "cat", "head", "less"} and arguments:
        return readings.read_file(name, arguments, filters)
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
