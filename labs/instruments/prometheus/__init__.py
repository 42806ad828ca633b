"""What Prometheus reads from an engine: vLLM 0.32's families, their values, and the page ``/metrics``."""

from labs.instruments.prometheus.exposition import metrics_text
from labs.instruments.prometheus.families import FAMILIES, Family
from labs.instruments.prometheus.scrapes import EPOCH_S, Scrape, instance_of, scrapes

__all__ = ["EPOCH_S", "FAMILIES", "Family", "Scrape", "instance_of", "metrics_text", "scrapes"]
