"""What people are answered: by status as the gateway writes it, by length, and by a request of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.prometheus.scrapes import EPOCH_S
from labs.instruments.signals import recent, sent_between, window_words
from labs.simulator.gateway import answer, is_clamped
from labs.simulator.http_answers import BAD_REQUEST, NOT_FOUND, OK, SERVER_ERROR, HttpAnswer, Probe
from labs.simulator.request import Status, to_s

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labs.instruments.signals import View
    from labs.simulator.request import Request

GATEWAY_ONLY = ("tokenizer_crash",)
"""Reasons of a 500 for which no engine was asked."""


def _decided(view: View) -> Sequence[Request]:
    """Return the requests of five minutes that have begun to be answered, or were refused."""
    sent = sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s)
    return [
        each
        for each in sent
        if (each.first_token_s is not None and each.first_token_s <= view.now_s)
        or (each.finish_s is not None and each.finish_s <= view.now_s)
    ]


def _status(request: Request) -> int:
    """Return the HTTP status that the gateway wrote."""
    if request.refusal:
        return request.http_status
    return SERVER_ERROR if request.finish_reason == "error" else OK


def _is_short(request: Request, now_s: float) -> bool:
    return request.finish_s is not None and request.finish_s <= now_s and is_clamped(request)


def _was_asked(request: Request) -> bool:
    """Return whether an engine saw the request's body and said 400 to it, whatever became of that."""
    return (
        _status(request) >= SERVER_ERROR
        and bool(request.refusal)
        and (request.refusal not in (*GATEWAY_ONLY, "shutting_down", "queue_full", "no_replica"))
    )


def _share(view: View, holds: Callable[[Request], bool]) -> float | None:
    decided = _decided(view)
    return sum(map(holds, decided)) / len(decided) if decided else None


def share_5xx_5m(view: View) -> float | None:
    """Return the share of answers that are a 5xx."""
    return _share(view, lambda each: _status(each) >= SERVER_ERROR)


def share_4xx_5m(view: View) -> float | None:
    """Return the share of answers that are a 400 or a 404."""
    return _share(view, lambda each: _status(each) in (BAD_REQUEST, NOT_FOUND))


def share_429_5m(view: View) -> float | None:
    """Return the share of answers that are a 429."""
    return _share(view, lambda each: each.status is Status.SHED)


def short_share_5m(view: View) -> float | None:
    """Return the share of answers with 200 that ended at the context, short of what was asked for."""
    return _share(view, lambda each: _is_short(each, view.now_s))


def turned_share_5m(view: View) -> float | None:
    """Return the share of answers that are a 500 while the engine had said 400."""
    return _share(view, _was_asked)


def failed_share_5m(view: View) -> float | None:
    """Return the share that client libraries report as failed: a 429, a 5xx, or an answer cut at the context."""
    return _share(
        view,
        lambda each: (
            _status(each) >= SERVER_ERROR
            or each.status is Status.SHED
            or _is_short(each, view.now_s)
        ),
    )


def first_rate_5m(view: View) -> float | None:
    """Return how many requests a second were sent for the first time, five minutes."""
    sent = sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s)
    return sum(not each.attempt for each in sent) / view.windows.panel_s if sent else None


def retry_share_5m(view: View) -> float | None:
    """Return the share of what was sent in five minutes that had been sent before."""
    sent = sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s)
    return sum(each.attempt > 0 for each in sent) / len(sent) if sent else None


def _given_up(view: View) -> tuple[int, int]:
    """Return of five minutes' ends how many clients gave up, and how many ends there were."""
    gone = ended = 0
    for each in recent(view.cluster, view.now_s - view.windows.panel_s, view.now_s):
        left_s = None if each.client_left_ps is None else to_s(each.client_left_ps)
        end_s = each.finish_s if left_s is None else left_s
        if end_s is not None and view.now_s - view.windows.panel_s < end_s <= view.now_s:
            ended += 1
            gone += left_s is not None
    return gone, ended


def unanswered_share_5m(view: View) -> float | None:
    """Return the share of the calls that ended in five minutes whose client gave up."""
    gone, ended = _given_up(view)
    return gone / ended if ended else None


def attempts(view: View) -> str:
    """Return what was sent in five minutes: for the first time, and again; and who gave up."""
    first, again = first_rate_5m(view), retry_share_5m(view)
    if first is None or again is None:
        return "nobody sent anything in this window"
    gone, ended = _given_up(view)
    return "\n".join(
        [
            f"first attempts  {first:.3f} /s",
            f"sent again      {again:.2f} of all that was sent",
            f"given up        {gone} of {ended} calls that ended in the last {window_words(view.windows.panel_s)}",
        ]
    )


def access_log(view: View) -> str:
    """Return five minutes of the gateway's access log, counted by status."""
    decided = _decided(view)
    if not decided:
        return "nobody was answered in this window"
    rows = [
        ("200", sum(_status(each) == OK and each.status is not Status.SHED for each in decided)),
        ("400, 404", sum(_status(each) in (BAD_REQUEST, NOT_FOUND) for each in decided)),
        ("429", sum(each.status is Status.SHED for each in decided)),
        ("5xx", sum(_status(each) >= SERVER_ERROR for each in decided)),
    ]
    lines = [
        f"{name:10}{count:6}  {100 * count / len(decided):5.1f} %  of {len(decided)} answers"
        for name, count in rows
    ]
    return "\n".join(lines)


def upstream(view: View) -> str:
    """Return what the engine had said where the gateway answered 5xx, five minutes."""
    decided = _decided(view)
    failed = [each for each in decided if _status(each) >= SERVER_ERROR]
    asked = sum(map(_was_asked, failed))
    return "\n".join(
        [
            f"{len(failed)} answers with 5xx in the last {window_words(view.windows.panel_s)}, of {len(decided)}",
            f"upstream 400   {asked:6}",
            f"upstream -     {len(failed) - asked:6}  no engine was asked, or it was the engine's own",
        ]
    )


def lengths(view: View) -> str:
    """Return how long the answers were that ended in five minutes, against what was asked for."""
    ended = [each for each in _decided(view) if each.status is Status.FINISHED]
    short = [each for each in ended if _is_short(each, view.now_s)]
    lines = [
        f"{len(ended)} answers ended in the last {window_words(view.windows.panel_s)}",
        f"as long as asked for        {len(ended) - len(short):6}",
        f"ended at the context, short {len(short):6}",
    ]
    lines += [
        f"  {each.request_id}  prompt {each.prompt_tokens}  asked {each.max_tokens}  "
        f"got {each.num_output_tokens}  finish_reason length"
        for each in short[-3:]
    ]
    return "\n".join(lines)


def body_of(name: str, model: str, max_model_len: int) -> Probe:
    """Return what a probe sends. Raises KeyError for one that does not exist."""
    bodies = {
        "both-long": Probe(model=model, prompt_tokens=max_model_len - 192, max_tokens=500),
        "no-role": Probe(model=model, roles=(None,)),
        "prompt-long": Probe(model=model, prompt_tokens=max_model_len + 900),
    }
    return bodies[name]


def _probe(view: View, name: str) -> HttpAnswer:
    """Return the answer to a request of one's own. Raises KeyError for one that does not exist."""
    config, gateway = view.engine.config, view.cluster.front.gateway
    body = body_of(name, gateway.model, config.max_model_len)
    return answer(gateway, config, body, created_s=EPOCH_S + round(view.now_s))


def probed(view: View, name: str) -> str:
    """Return what a request of one's own is answered, in a word: ``200 short``, ``400``, ``500``."""
    found = _probe(view, name)
    return "200 short" if found.reason == "clamped" else str(found.status)


def probe(view: View, name: str) -> str:
    """Return the answer to a request of one's own as ``curl -i`` prints it. Raises KeyError as above."""
    found = _probe(view, name)
    return f"HTTP/1.1 {found.status}\n{found.body}"


ANSWER_SIGNALS: dict[str, Callable[[View], float | str | None]] = {
    "first_rate_5m": first_rate_5m,
    "retry_share_5m": retry_share_5m,
    "unanswered_share_5m": unanswered_share_5m,
    "share_5xx_5m": share_5xx_5m,
    "share_4xx_5m": share_4xx_5m,
    "share_429_5m": share_429_5m,
    "short_share_5m": short_share_5m,
    "turned_share_5m": turned_share_5m,
    "failed_share_5m": failed_share_5m,
    "probe_both_long": lambda view: probed(view, "both-long"),
    "probe_no_role": lambda view: probed(view, "no-role"),
    "probe_prompt_long": lambda view: probed(view, "prompt-long"),
}
