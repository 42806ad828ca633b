"""Numbers of what stands in front of the engines: slots, streams, answers by status, retries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labs.instruments.answers import ANSWER_SIGNALS
from labs.instruments.endings import ENDING_SIGNALS
from labs.instruments.experience import felt
from labs.instruments.signals import (
    quantile,
    recent,
    sample_at,
    sent_between,
    window,
)
from labs.instruments.stops import STOP_SIGNALS
from labs.simulator.request import to_s
from labs.worlds.front import BATCH

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.instruments.signals import View
    from labs.simulator.request import Request

SLOW_TPOT_S = 0.025
"""An answer slower than this a token, 40 tokens a second, counts as slow. Scenario constant."""


def running(view: View) -> float | None:
    """Return ``vllm:num_requests_running`` of one replica."""
    sample = sample_at(view.engine, view.now_s)
    return None if sample is None else float(sample.running)


def slots_used(view: View) -> float | None:
    """Return the share of ``max_num_seqs`` that runs."""
    now = running(view)
    return None if now is None else now / view.engine.config.max_num_seqs


def prefill_share(view: View) -> float | None:
    """Return the share of a minute's engine time that first prefills took."""
    pair = window(view, view.windows.short_s)
    if pair is None:
        return None
    first, last = pair
    busy_s = last.busy_s - first.busy_s
    prefill_s = last.prefill_s - first.prefill_s - (last.recompute_s - first.recompute_s)
    return prefill_s / busy_s if busy_s else 0.0


def arrival_rate_5m(view: View) -> float | None:
    """Return what clients sent in five minutes, requests per second."""
    sent = sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s)
    return len(sent) / view.windows.panel_s if sent else None


def prompt_mean_tokens_5m(view: View) -> float | None:
    """Return the mean prompt of five minutes, tokens."""
    sent = sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s)
    return sum(each.prompt_tokens for each in sent) / len(sent) if sent else None


def output_mean_tokens_5m(view: View) -> float | None:
    """Return the mean answer that the requests of five minutes ask for, tokens."""
    sent = sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s)
    return sum(each.max_tokens for each in sent) / len(sent) if sent else None


def slow_share_5m(view: View) -> float | None:
    """Return the share of the streams with a token in five minutes whose tokens come slower than SLOW_TPOT_S."""
    slow = count = 0
    for request in recent(view.cluster, view.now_s - view.windows.panel_s, view.now_s):
        first_s = request.first_token_s
        if first_s is None or first_s > view.now_s or request.num_output_tokens < 2:  # noqa: PLR2004
            continue
        value = felt(request, "tpot", view.now_s)
        if value is not None:
            count += 1
            slow += value > SLOW_TPOT_S
    return slow / count if count else None


def ghosts(view: View) -> list[Request]:
    """Return the requests that run although their client has gone."""
    return [
        each
        for each in running_requests(view)
        if is_closed(each, view.now_s) or _is_by(each.client_left_ps, view.now_s)
    ]


def is_closed(request: Request, now_s: float) -> bool:
    """Return whether the user of a request has closed its stream midway, by ``now_s`` where it was noted when."""
    return request.is_cancelled if request.closed_ps is None else _is_by(request.closed_ps, now_s)


def _is_by(at_ps: int | None, now_s: float) -> bool:
    return at_ps is not None and to_s(at_ps) <= now_s


def ghost_share(view: View) -> float | None:
    """Return the share of what runs whose client has gone."""
    count = len(running_requests(view))
    return len(ghosts(view)) / count if count else 0.0


def closed_share_5m(view: View) -> float | None:
    """Return the share of the streams of five minutes that their user has closed midway."""
    sent = [
        each
        for each in sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s)
        if each.first_token_s is not None
    ]
    return sum(is_closed(each, view.now_s) for each in sent) / len(sent) if sent else None


def run_on_share_5m(view: View) -> float | None:
    """Return of the streams that their user closed midway, and that ended in five minutes, the share of which more was computed than the user had; None if none ended."""
    from_s = view.now_s - view.windows.panel_s
    outputs = [
        (each.num_output_tokens, each.cancel_tokens or 0)
        for each in recent(view.cluster, from_s, view.now_s)
        if each.is_cancelled and from_s < (each.finish_s or from_s) <= view.now_s
    ]
    return sum(had > wanted for had, wanted in outputs) / len(outputs) if outputs else None


def is_young(view: View, request: Request) -> bool:
    """Return whether a request came to a replica that had been ready for less than the lab's ``young_s``."""
    lives = view.cluster.engines[request.replica].processes[1:]
    return any(0 <= request.arrival_s - life.up_s < view.windows.young_s for life in lives)


def ttfts_by_age(view: View) -> tuple[list[float], list[float]]:
    """Return the TTFTs of five minutes at young replicas and at the others, seconds; who waits has waited so far."""
    young: list[float] = []
    others: list[float] = []
    for request in sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s):
        if request.refusal:
            continue
        first_s = request.first_token_s
        until_s = view.now_s if first_s is None or first_s > view.now_s else first_s
        (young if is_young(view, request) else others).append(until_s - request.sent_s)
    return young, others


def young_ttft_p95_s(view: View) -> float | None:
    """Return p95 TTFT of what came to young replicas in five minutes, seconds."""
    return quantile(ttfts_by_age(view)[0], 0.95)


def settled_ttft_p95_s(view: View) -> float | None:
    """Return p95 TTFT of what came to the other replicas in five minutes, seconds."""
    return quantile(ttfts_by_age(view)[1], 0.95)


def running_mean_5m(view: View) -> float | None:
    """Return how many requests ran on all replicas, the mean of five minutes' samples."""
    totals = [0.0, 0.0]
    for engine in view.cluster.engines:
        for sample in reversed(engine.samples):
            if sample.t_s <= view.now_s - view.windows.panel_s:
                break
            if sample.t_s <= view.now_s:
                totals[0] += sample.running
                totals[1] += 1 / len(view.cluster.engines)
    return totals[0] / totals[1] if totals[1] else None


def batch_in_flight(view: View) -> float:
    """Return how many requests of the batch job are open on all replicas, waiting ones among them."""
    return float(sum(each.request_class == BATCH for each in open_requests(view)))


def batch_tokens_each(view: View) -> float | None:
    """Return the tokens of an open request of the batch job, prompt and answer so far, on average."""
    tokens = [each.num_tokens for each in open_requests(view) if each.request_class == BATCH]
    return sum(tokens) / len(tokens) if tokens else None


def open_requests(view: View) -> list[Request]:
    """Return the requests that the engines have now: those that run, then those that wait."""
    engines: list[Any] = list(view.cluster.engines)
    if all(hasattr(engine, "open_at") for engine in engines):  # A record: it has no present.
        return [each for engine in engines for each in engine.open_at(view.now_s)]
    waiting = [each for engine in view.cluster.engines for each in engine.waiting]
    return [*running_requests(view), *waiting]


def running_requests(view: View) -> list[Request]:
    """Return the requests that run now. Of a real engine, those that have a token: the gateway sees no more."""
    engines: list[Any] = list(view.cluster.engines)
    if all(hasattr(engine, "open_at") for engine in engines):
        opened = [each for engine in engines for each in engine.open_at(view.now_s)]
        return [each for each in opened if _is_by(each.first_token_ps, view.now_s)]
    return [each for engine in view.cluster.engines for each in engine.running]


def open_load(view: View) -> float:
    """Return the tokens of all open requests, prompt and answer so far, over the tokens that the pools hold."""
    tokens = sum(each.num_tokens for each in open_requests(view))
    return tokens / pool_tokens(view)


def pool_tokens(view: View) -> int:
    """Return the tokens that the pools of all replicas hold."""
    configs = [engine.config for engine in view.cluster.engines]
    return sum(each.usable_blocks * each.block_size for each in configs)


def held_per_running_tokens(view: View) -> float | None:
    """Return the tokens of KV that a running request of one replica holds, on average; None if none runs."""
    engine, config = view.engine, view.engine.config
    held = config.usable_blocks - engine.num_free_blocks - engine.num_leaked_blocks
    return held * config.block_size / len(engine.running) if engine.running else None


FRONT_SIGNALS: dict[str, Callable[[View], float | str | None]] = {
    **ANSWER_SIGNALS,
    **ENDING_SIGNALS,
    **STOP_SIGNALS,
    "running": running,
    "slots_used": slots_used,
    "prefill_share": prefill_share,
    "young_ttft_p95_s": young_ttft_p95_s,
    "settled_ttft_p95_s": settled_ttft_p95_s,
    "ghost_share": ghost_share,
    "closed_share_5m": closed_share_5m,
    "run_on_share_5m": run_on_share_5m,
    "slow_share_5m": slow_share_5m,
    "running_mean_5m": running_mean_5m,
    "arrival_rate_5m": arrival_rate_5m,
    "prompt_mean_tokens_5m": prompt_mean_tokens_5m,
    "output_mean_tokens_5m": output_mean_tokens_5m,
    "batch_in_flight": batch_in_flight,
    "batch_tokens_each": batch_tokens_each,
    "open_load": open_load,
    "held_per_running_tokens": held_per_running_tokens,
}
