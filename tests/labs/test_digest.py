"""What a lab's computed files follow from: nothing that moves a number is left out, and nothing else is in."""

import pytest

from labs import digest
from labs.digest import behaviour, meaning, meaning_digest, spec_digest


def changed(spec, path, **values):
    """The spec with some values changed at a path of attributes and keys."""
    if not path:
        return spec.model_copy(update=values)
    name, *rest = path
    inner = getattr(spec, name)
    if rest and isinstance(inner, dict):
        key, *rest = rest
        return spec.model_copy(update={name: {**inner, key: changed(inner[key], rest, **values)}})
    return spec.model_copy(update={name: changed(inner, rest, **values)})


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (["timeline"], {"grid_s": (0, 300)}),
        (["alarm"], {"above": 0.7}),
        (["admission"], {"page": ()}),
        (["slos", "ttft"], {"limit_s": 3.0}),
        (["fleet"], {"restart_s": 90}),
        (["traffic"], {"length_cv": 0.6}),
        (["mitigation"], {"settle_s": 240}),
        (["hypotheses", "leak", "world"], {"leak_over_s": 500}),
        (["hypotheses", "leak"], {"prior": 0.9}),
        (["hypotheses", "leak"], {"served": True}),
        (["hypotheses", "leak", "answer"], {"scope": "healthy"}),
        (["signals", "kv_usage"], {"resolution": 0.1}),
        (["signals", "kv_usage"], {"transform": "logit"}),
    ],
    ids=".".join,
)
def test_what_a_spec_says_about_its_worlds_or_its_table_is_in_its_digest(spec, path, values):
    other = changed(spec, path, **values)
    assert other != spec
    assert spec_digest(other) != spec_digest(spec)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ([], {"title": "Another"}),
        (["signals", "kv_usage"], {"title": "How full"}),
        (["slos", "ttft"], {"title": "soon"}),
        (["instruments", "ledger"], {"cost_s": 31}),
        (["hypotheses", "leak"], {"title": "A leak"}),
    ],
    ids=".".join,
)
def test_titles_and_prices_change_no_world(spec, path, values):
    other = changed(spec, path, **values)
    assert other != spec
    assert spec_digest(other) == spec_digest(spec)


@pytest.fixture
def small(spec):
    """Two worlds of the lab, over less time: its behaviour is computed in a moment."""
    kept = {key: spec.hypotheses[key] for key in ("demand", "leak")}
    line = {"starts_at_s": -900, "healthy_from_s": -600, "fault_at_s": -300, "grid_s": (0, 120)}
    return spec.model_copy(
        update={
            "hypotheses": kept,
            "timeline": spec.timeline.model_copy(update=line),
            "changes": {key: spec.changes[key] for key in ("cap", "shed")},
        }
    )


def test_the_same_code_behaves_the_same(small):
    assert behaviour(small) == behaviour(small)


@pytest.mark.parametrize(
    ("target", "factor"),
    [
        ("labs.simulator.cost_model.CostModel.step_ps", 1.001),
        ("labs.worlds.draws.Draws.uniform", 1.001),
        ("labs.instruments.signals.gap_p95_at", 1.01),
    ],
)
def test_what_moves_a_number_moves_the_behaviour(small, monkeypatch, target, factor):
    import pkgutil

    before = behaviour(small)
    real = pkgutil.resolve_name(target)

    def other(*args, **kwargs):
        value = real(*args, **kwargs)
        return value if value is None else type(value)(value * factor)

    monkeypatch.setattr(target, other)
    assert behaviour(small) != before


def test_what_only_a_change_does_is_in_the_behaviour_too(small, monkeypatch):
    from labs.simulator.cluster import Cluster

    before = behaviour(small)
    monkeypatch.setattr(
        Cluster, "shed", lambda self, share, real=Cluster.shed: real(self, share / 2)
    )
    assert behaviour(small) != before


def test_what_happens_after_the_page_only_is_in_the_behaviour_too(small, monkeypatch):
    from labs.simulator.cluster import Cluster

    before = behaviour(small)

    def advance(self, until_s, real=Cluster.advance):
        if until_s > 60:
            self.shed(0.2)
        real(self, until_s)

    monkeypatch.setattr(Cluster, "advance", advance)
    monkeypatch.setattr(digest, "_changed", lambda world: b"")
    assert behaviour(small) != before


def test_layout_and_comments_have_no_meaning_and_numbers_have():
    plain = 'def f(x):\n    """Say."""\n    return x + 1\n'
    other = 'def f(x):  # why\n\n    """Say more."""\n    return (\n        x + 1)\n'
    assert meaning(plain) == meaning(plain.replace('"""Say."""', "'''Other.'''"))
    assert meaning(plain) == meaning(plain.replace("return", "# a note\n    return"))
    assert meaning(plain) != meaning(plain.replace("1", "2"))
    assert meaning(plain) != meaning(other)


def test_a_rooms_digest_follows_its_code_and_its_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(digest, "_HERE", tmp_path)
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "a.py").write_text("x = 1  # one\n")
    (tmp_path / "room" / "b.toml").write_text("y = 1\n")
    before = meaning_digest(["room"])
    (tmp_path / "room" / "a.py").write_text("x = 1\n")
    assert meaning_digest(["room"]) == before
    (tmp_path / "room" / "b.toml").write_text("y = 2\n")
    tables = meaning_digest(["room"])
    (tmp_path / "room" / "a.py").write_text("x = 2\n")
    assert len({before, tables, meaning_digest(["room"])}) == 3
