"""PromQL over what Prometheus would have scraped from this cluster every five seconds."""

from labs.instruments.prometheus import EPOCH_S
from labs.instruments.promql.errors import PromqlError
from labs.instruments.promql.lab import (
    Query,
    answer,
    evaluate,
    instrument_of,
    parse,
    signal_of,
    vector,
)
from labs.instruments.promql.series import RECORDED, ROUTER, ROUTER_BUCKETS_S

__all__ = [
    "EPOCH_S",
    "RECORDED",
    "ROUTER",
    "ROUTER_BUCKETS_S",
    "PromqlError",
    "Query",
    "answer",
    "evaluate",
    "instrument_of",
    "parse",
    "signal_of",
    "vector",
]
