"""The figure of what instruments are worth, as data."""

from labs import charts


def test_the_best_instrument_is_on_top_and_yours_says_so():
    rows = [
        {"title": "Queue age", "value": 1.5, "yours": False},
        {"title": "KV ledger", "value": 0.5, "yours": True},
    ]
    bars = charts.value_figure(rows)["data"][0]
    assert bars["y"] == ["KV ledger", "Queue age"]
    assert bars["text"] == ["0.50 yours", "1.50"]
    assert bars["marker"]["color"] == ["--accent", "--ink-2"]
