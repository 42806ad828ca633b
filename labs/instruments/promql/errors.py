"""What a query that is not answered is told."""


class PromqlError(ValueError):
    """An expression that this Prometheus does not answer; the message helps."""
