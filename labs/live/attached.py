"""An engine that somebody else runs: looked at before anything is sent, sent requests, scraped; never started, set or stopped."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from labs.live import servers
from labs.live.replicas import Replica
from labs.live.scraping import OtherMetrics, Page, read, sample_of
from labs.live.telling import GAUGES
from labs.simulator.telemetry import Process, Sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.simulator.config import EngineConfig
    from labs.simulator.cost_model import CostModel

KNOWN = "0.32"
"""The vLLM that the course knows: others name and count things differently."""
ASK_LIMIT_S = 10.0
UNHEARD_S = 30.0
"""An engine that could not be scraped for so long is gone."""


@dataclass(frozen=True)
class Attached:
    """What stands in place of a started engine."""

    base_url: str
    process: None = None
    is_alive: bool = True
    """Nobody here could tell: what cannot be scraped any more is gone."""


class AttachedReplica(Replica):
    """The engine at a URL, as a replica of a live world."""

    def __init__(self, config: EngineConfig, cost: CostModel, *, url: str, **others: Any) -> None:
        super().__init__(config, cost, **others)
        self.url = url

    def wake(self) -> None:
        """Look whether it is the engine that the lab needs. Raises EngineError."""
        page = checked(self.url, self._model, self.config)
        self.telling.base = _less(sample_of(page, 0.0))
        attached: Any = Attached(self.url)
        self.server = attached

    def wait(self, tell: Callable[[float, str], None] | None = None) -> None:
        """It answers already."""

    def answer(self) -> None:
        """Send it requests from now on. What it counted before is not counted here."""
        super().answer()
        self.processes[-1] = Process(self.processes[-1].stopped_s, self.processes[-1].up_s, None)

    def look(self) -> None:
        """Notice that it is gone."""
        silent_s = time.monotonic() - self.telling.heard_at
        if self.server is not None and self.processes and silent_s > UNHEARD_S:
            self.failure = servers.EngineDied(
                f"The engine at {self.url} has not answered for {silent_s:.0f} s. It is run by somebody else: ask them."
            )
            self._down()
            self.server, self.is_lost = None, True

    def restart(self, config: EngineConfig, cost: CostModel, *, down_s: float) -> None:
        """Refuse: the engine is not ours. Raises EngineError."""
        del config, cost, down_s
        raise servers.EngineError(
            f"The engine at {self.url} is run by somebody else; it is not restarted from here."
        )

    def kill(self) -> None:
        """Refuse: the engine is not ours. Raises EngineError."""
        raise servers.EngineError(
            f"The engine at {self.url} is run by somebody else; it is not ended from here."
        )

    def close(self) -> None:
        """Leave it as it is."""
        self.telling.hush(wait=False)
        self.server = None


def checked(url: str, model: str, config: EngineConfig) -> Page:
    """Return the page ``/metrics`` of an engine that a lab can be played on. Raises EngineError, which says what differs."""
    version = str(_json(url, "/version").get("version", "?"))
    if version != KNOWN and not version.startswith((f"{KNOWN}.", f"{KNOWN}+")):
        raise servers.EngineError(
            f"The engine at {url} is vLLM {version[:40]}, and the course knows {KNOWN}."
        )
    cards = {str(each.get("id")): each for each in _json(url, "/v1/models").get("data", ())}
    if model not in cards:
        names = ", ".join(sorted(cards)) or "nothing"
        raise servers.EngineError(
            f"The engine at {url} serves {names[:200]}; this box's profile says {model}."
        )
    try:
        page = read(_text(url, "/metrics"))
    except OtherMetrics as exc:
        raise servers.EngineError(f"The engine at {url}: {exc}") from exc
    longest = cards[model].get("max_model_len")
    _same(url, "a context of {} tokens", longest, config.max_model_len)
    _same(url, "a pool of {} KV blocks", _label(page, "num_gpu_blocks"), config.num_gpu_blocks)
    _same(url, "KV blocks of {} tokens", _label(page, "block_size"), config.block_size)
    others = round(page.total("vllm:num_requests_running") + page.total("vllm:num_requests_waiting"))  # fmt: skip
    if others:
        raise servers.EngineError(
            f"The engine at {url} has {others} requests of others: they would be in every reading. Keep it for the course, and try again."
        )
    return page


def _same(url: str, words: str, has: object, wants: int) -> None:
    """Raise EngineError for an engine that has another value than the lab's world; one that does not tell is believed."""
    if has is not None and str(has) != str(wants):
        raise servers.EngineError(
            f"The engine at {url} has {words.format(has)}; this world of the lab is made for {wants}."
        )


def _label(page: Page, name: str) -> str | None:
    for labels in page.values.get("vllm:cache_config_info", {}):
        found = dict(labels).get(name)
        if found is not None and found.isdecimal():
            return found
    return None


def _json(url: str, path: str) -> dict[str, Any]:
    try:
        found = json.loads(_text(url, path))
    except ValueError as exc:
        raise servers.EngineError(f"{url}{path} is no JSON: there is no vLLM.") from exc
    if not isinstance(found, dict):
        raise servers.EngineError(f"{url}{path} is not what vLLM answers.")
    return found


def _text(url: str, path: str) -> str:
    try:
        with urllib.request.urlopen(url + path, timeout=ASK_LIMIT_S) as answer:  # noqa: S310  (a profile's http address)
            text: str = answer.read().decode(errors="replace")
    except urllib.error.HTTPError as exc:
        raise servers.EngineError(f"{url}{path} answers {exc.code}: there is no vLLM.") from exc
    except OSError as exc:
        why = getattr(exc, "reason", None) or exc
        raise servers.EngineError(f"The engine at {url} does not answer: {why}.") from exc
    return text


def _less(sample: Sample) -> Sample:
    """Return a sample whose counts, added to those of a later one, leave what was counted since."""
    less: dict[str, Any] = {}
    for each in fields(Sample):
        value = getattr(sample, each.name)
        if each.name not in GAUGES:
            less[each.name] = tuple(-n for n in value) if isinstance(value, tuple) else -value
    return replace(sample, **less)
