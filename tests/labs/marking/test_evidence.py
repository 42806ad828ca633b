import random

import pytest

from labs.marking.evidence import (
    Citation,
    Link,
    evidence_part,
    evidence_share,
    judged,
    rules_out,
    rules_out_bits,
    shows,
    shows_p,
)
from labs.marking.table import Signal, Table

from .toys import drawn, reading


def healthy_table(kind="number", values=None, resolution=0.03):
    values = values or [0.60 + step / 100 for step in range(40)]
    rows = tuple({"kv": value} for value in values)
    return Table(
        hypotheses=("a", "b"),
        priors={"a": 0.5, "b": 0.5},
        grid_s=(0,),
        signals=(Signal("kv", "share", "id", resolution, kind=kind),),
        runs={("a", 0): rows, ("b", 0): rows, ("healthy", 0): rows},
    )


KV = ("kv", 0)


def test_a_reading_like_three_healthy_ones_is_void():
    assert shows_p(healthy_table(), KV, 0.97) == pytest.approx(7 / 41)
    assert not shows(healthy_table(), KV, 0.97)


def test_a_reading_beyond_every_healthy_one_stands():
    assert shows_p(healthy_table(), KV, 1.00) == pytest.approx(1 / 41)
    assert shows(healthy_table(), KV, 1.00)


def test_a_reading_within_the_resolution_of_healthy_shows_nothing():
    assert not shows(healthy_table(values=[0.5] * 40), KV, 0.52)
    assert shows(healthy_table(values=[0.5] * 40), KV, 0.53)


def test_a_category_shows_if_at_most_one_healthy_run_in_forty_reads_it():
    def table(same):
        return healthy_table("category", ["open"] * (40 - same) + ["shut"] * same)

    assert shows(table(0), KV, "shut")
    assert shows(table(1), KV, "shut")
    assert not shows(table(2), KV, "shut")


def test_an_absent_number_is_compared_as_a_category():
    assert shows(healthy_table(), KV, None)
    assert shows(healthy_table(values=[None] * 40), KV, 0.5)
    assert not shows(healthy_table(values=[None] * 40), KV, None)


def test_a_reading_rules_a_rival_out_from_two_bits_on():
    table = drawn([[0, 4]], worlds=("storm", "demand"))
    column = ("s00", 0)
    assert rules_out(table, column, 0.0, truth="storm", rival="demand")
    assert not rules_out(table, column, 2.0, truth="storm", rival="demand")
    bits = rules_out_bits(table, column, 0.0, truth="storm", rival="demand")
    assert rules_out_bits(table, column, 0.0, truth="demand", rival="storm") == pytest.approx(-bits)


def test_normal_arrivals_are_the_proof_of_a_storm_though_they_look_healthy():
    # One-sided "shows" would call the very reading void that rules out demand.
    table = drawn([[0, 4, 0]], worlds=("storm", "demand", "healthy"))
    assert not shows(table, ("s00", 0), 0.1)
    assert rules_out(table, ("s00", 0), 0.1, truth="storm", rival="demand")


@pytest.mark.parametrize(
    ("covered", "void", "off_chain", "cause", "points"),
    [
        (2, 0, 0, True, 15),
        (1, 0, 0, True, 10),
        (1, 0, 0, False, 6),
        (2, 1, 0, True, 12),
        (2, 0, 1, True, 13.3),
        (2, 2, 2, True, 8.6),
        (0, 0, 1, False, 0),
        (0, 0, 0, False, 0),
    ],
)
def test_two_links_earn_as_the_specification_computes(covered, void, off_chain, cause, points):
    share = evidence_share(
        covered=covered, void=void, off_chain=off_chain, links=2, cause_proved=cause
    )
    assert 15 * share == pytest.approx(points, abs=0.05)


# A lab of four signals: cause and effect are links, alarm and extra are not; dull is healthy.
SIGNALS = ["alarm", "cause", "dull", "effect", "extra", "twin"]
TABLE = drawn(
    [[9, 9, 0], [9, 0, 0], [0, 0, 0], [9, 0, 0], [9, 0, 0], [9, 0, 0]],
    worlds=("storm", "demand", "healthy"),
    signals=SIGNALS,
)
CHAIN = (
    Link("the cause", frozenset({"cause", "twin"}), "shows", cause=True),
    Link("the effect", frozenset({"effect"}), "shows", cause=False),
)
TAKEN = [
    reading(number, values={name: 0.0 if name == "dull" else 9.0 for name in SIGNALS})
    for number in range(1, 5)
]


def cite(*signals, number=1):
    return [Citation(number, signal, "shows") for signal in signals]


def part(citations, credit=1.0, **more):
    return evidence_part(
        TABLE, TAKEN, citations, CHAIN, truth="storm", mechanism_credit=credit, **more
    )


@pytest.mark.parametrize(
    ("citations", "points"),
    [
        (cite("cause", "effect"), 15),
        (cite("cause"), 10),
        (cite("effect"), 6),
        (cite("cause", "effect", "dull"), 12),
        (cite("cause", "effect", "extra"), 13.3),
        (
            cite("cause", "effect", "dull", "extra", "alarm") + cite("dull", number=2),
            8.6,
        ),
        (cite("cause", "effect") + cite("cause", "effect", number=2), 15),
        (cite("alarm"), 0),
        ([], 0),
    ],
)
def test_citations_earn_as_the_specification_computes(citations, points):
    assert part(citations).earned == points


def test_equivalent_signals_are_interchangeable():
    assert part(cite("twin", "effect")).earned == part(cite("cause", "effect")).earned == 15
    assert part(cite("twin", "cause", "effect")).earned == 15


def test_a_right_reading_behind_a_wrong_story_is_not_its_proof():
    assert part(cite("cause", "effect"), credit=0.25).earned == 6
    assert part(cite("cause", "effect"), credit=0.5).earned == 15
    assert "not what they prove" in part(cite("cause"), credit=0).reason


def test_more_than_six_citations_earn_nothing():
    seven = cite("cause", "effect", "extra", "alarm") + cite("cause", "effect", "dull", number=2)
    assert part(seven).earned == 0
    assert "more than 6" in part(seven).reason


def test_a_citation_made_twice_is_one():
    assert part(cite("cause", "effect") * 4).earned == 15


def test_a_citation_of_what_was_not_read_is_void():
    assert part(cite("cause", "effect") + cite("cause", number=99)).earned == 12
    spoilt = [reading(1, values={"cause": 9.0}, spoilt=True)]
    verdicts = judged(TABLE, spoilt, cite("cause", "effect"), CHAIN, truth="storm")
    assert [each.verdict for each in verdicts] == ["void", "void"]


def test_a_derived_signal_is_cited_from_the_reading_that_completed_it():
    taken = [reading(1, values={"dull": 0.0}, derived={"cause": 9.0})]
    (verdict,) = judged(TABLE, taken, cite("cause"), CHAIN, truth="storm")
    assert verdict.verdict == "link"


def test_six_citations_of_which_three_are_right_earn_twelve_at_most():
    most = max(
        evidence_share(covered=3, void=void, off_chain=3 - void, links=3, cause_proved=True)
        for void in range(4)
    )
    assert 15 * most == pytest.approx(12)


def test_the_wrong_role_does_not_cover_a_link():
    wrong = [Citation(1, "cause", "rules out", "demand")]
    (verdict,) = judged(TABLE, TAKEN, wrong, CHAIN, truth="storm")
    assert verdict.verdict == "off-chain"
    assert verdict.strength is not None
    assert verdict.strength >= 2


def test_ruling_out_the_truth_or_an_unknown_rival_is_void():
    for rival in ("storm", "cable", None):
        (verdict,) = judged(
            TABLE, TAKEN, [Citation(1, "cause", "rules out", rival)], CHAIN, truth="storm"
        )
        assert verdict.verdict == "void"


def test_a_link_that_names_its_rival_wants_that_rival():
    chain = (Link("not demand", frozenset({"cause"}), "rules out", cause=True, rival="demand"),)
    right = [Citation(1, "cause", "rules out", "demand")]
    wrong = [Citation(1, "cause", "rules out", "healthy")]
    assert judged(TABLE, TAKEN, right, chain, truth="storm")[0].verdict == "link"
    assert judged(TABLE, TAKEN, wrong, chain, truth="storm")[0].verdict == "off-chain"


def test_a_chain_whose_links_overlap_is_refused():
    overlap = (*CHAIN, Link("again", frozenset({"twin"}), "shows", cause=False))
    with pytest.raises(ValueError, match="one citation would cover"):
        judged(TABLE, TAKEN, [], overlap, truth="storm")
    with pytest.raises(ValueError, match="one name"):
        judged(TABLE, TAKEN, [], (CHAIN[0], CHAIN[0]), truth="storm")
    with pytest.raises(ValueError, match="needs a link"):
        judged(TABLE, TAKEN, [], (), truth="storm")


def test_covering_a_link_never_lowers_evidence_and_a_void_never_raises_it():
    rng = random.Random("evidence:1")
    pool = [c for n in (1, 2) for c in cite(*SIGNALS, number=n)]
    for _ in range(300):
        cited = rng.sample(pool, rng.randint(0, 5))
        credit = rng.choice([0, 0.5, 1])
        before = part(cited, credit).earned
        covered = part(cited, credit).details["covered"]
        for link, signal in (("the cause", "cause"), ("the effect", "effect")):
            if link not in covered:
                assert part([*cited, *cite(signal, number=3)], credit).earned >= before
        assert part([*cited, *cite("dull", number=3)], credit).earned <= before


def test_the_order_of_citations_changes_nothing():
    rng = random.Random("evidence:2")
    pool = [c for n in (1, 2) for c in cite(*SIGNALS, number=n)]
    for _ in range(50):
        cited = rng.sample(pool, 6)
        one = part(cited)
        rng.shuffle(cited)
        assert part(cited) == one


def test_a_healthy_control_counts_the_alarm_retaken_as_a_link():
    chain = (
        Link("alarm", frozenset({"alarm"}), "rules out", cause=False),
        Link("no storm", frozenset({"cause"}), "rules out", cause=True, rival="storm"),
    )
    taken = [reading(1, values=dict.fromkeys(SIGNALS, 0.0))]
    cited = [
        Citation(1, "alarm", "rules out", "demand"),
        Citation(1, "cause", "rules out", "storm"),
    ]
    made = evidence_part(TABLE, taken, cited, chain, truth="healthy", mechanism_credit=1)
    assert made.earned == 15


def test_the_reason_counts_what_was_cited():
    said = part(cite("cause", "dull", "extra")).reason
    assert "Your 3 citations cover 1 of 2 links; 1 proves nothing." in said
    assert part([]).reason == "You cited nothing; the chain has 2 links."
    assert "None of them reaches the cause" in part(cite("effect")).reason
