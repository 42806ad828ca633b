"""The engine's page ``/metrics``, in Prometheus' text format, as vLLM 0.32 prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.prometheus.families import FAMILIES
from labs.instruments.prometheus.scrapes import EPOCH_S, counted, finished_in, scrape_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labs.instruments.prometheus.families import Family
    from labs.instruments.prometheus.readers import Labels
    from labs.instruments.prometheus.scrapes import Scrape
    from labs.instruments.signals import View
    from labs.simulator.request import Request

REFUSED = (
    "curl: (7) Failed to connect to localhost port 8000 after 0 ms: Couldn't connect to server"
)
"""What the reader sees while the server is down."""


def metrics_text(view: View, replica: int = 0) -> str:
    """Return what ``curl localhost:8000/metrics`` prints on the host of a replica.

    Gauges are those of the last sample: vLLM's, too, stand as the last finished step left them.
    """
    engine = view.cluster.engines[replica]
    scrape = scrape_at(view, engine, view.now_s)
    if scrape is None:
        return REFUSED
    finished = finished_in(engine, scrape.process, scrape.sample.t_s)
    return "\n".join(line for family in FAMILIES for line in _family(family, scrape, finished))


def number(value: float) -> str:
    """Return a value as the Python client prints it: 82.0, 2.5575424e+09."""
    text = repr(float(value))
    whole, dot, rest = text.partition(".")
    if dot and "e" not in text and value >= 10**6:
        digits = f"{whole[1:]}{rest}".rstrip("0")
        return f"{whole[0]}{'.' if digits else ''}{digits}e+{len(whole) - 1:02d}"
    return text


def braces(labels: Labels) -> str:
    """Return labels as a series has them: ``{engine="0",le="0.5"}``."""
    return f"{{{','.join(f'{name}="{value}"' for name, value in labels)}}}" if labels else ""


def bucket_labels(labels: Labels, bound: float | None) -> Labels:
    """Return ``labels`` with the bucket's upper bound among them; None is +Inf."""
    le = "+Inf" if bound is None else str(float(bound))
    return tuple(sorted((*labels, ("le", le))))


def created_labels(family: Family, scrape: Scrape) -> Sequence[Labels]:
    """Return the labels of the series whose beginning a family's ``_created`` gauges tell."""
    if family.read is None:
        return (_plain(scrape),)
    return [labels for labels, _ in family.read(scrape)]


def histogram(
    family: Family, scrape: Scrape, finished: Sequence[Request]
) -> tuple[tuple[float, ...], Sequence[int], float]:
    """Return a histogram's bounds, its observations per bucket (+Inf last) and their sum."""
    if family.bounds is None:
        raise ValueError(f"{family.name} is no histogram")
    bounds = family.bounds(scrape.engine.config)
    if family.observe is None:
        total = family.total(scrape) if family.total is not None else 0.0
        return bounds, scrape.counts_since(family.counts), total
    counts, total = counted((family.observe(request) for request in finished), bounds)
    return bounds, counts, total


def _plain(scrape: Scrape) -> Labels:
    return (("engine", "0"), ("model_name", scrape.model_name))


def _family(family: Family, scrape: Scrape, finished: Sequence[Request]) -> Iterator[str]:
    yield from _head(family.name, family.help, family.kind)
    if family.read is not None:
        for labels, value in family.read(scrape):
            yield f"{family.name}{braces(labels)} {number(value)}"
    else:
        bounds, counts, total = histogram(family, scrape, finished)
        seen, labels = 0, _plain(scrape)
        for bound, count in zip((*bounds, None), counts, strict=True):
            seen += count
            yield f"{family.name}_bucket{braces(bucket_labels(labels, bound))} {number(seen)}"
        yield f"{family.name}_count{braces(labels)} {number(seen)}"
        yield f"{family.name}_sum{braces(labels)} {number(total)}"
    if family.created:
        yield from _head(family.created, family.help, "gauge")
        for labels in created_labels(family, scrape):
            yield f"{family.created}{braces(labels)} {number(EPOCH_S + scrape.process.up_s)}"


def _head(name: str, help_text: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"
