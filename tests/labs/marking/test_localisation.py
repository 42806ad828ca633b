import random
from itertools import permutations

import pytest

from labs.marking.localisation import (
    CausalGraph,
    heaviest_matching,
    localisation_part,
    localisation_share,
    nearness,
)

# gate -> queue -> ttft_alarm, pool -> gate, traffic -> pool; router -> replica; island alone.
GRAPH = CausalGraph(
    nodes=frozenset(
        [
            "gate",
            "queue",
            "latency",
            "pool",
            "traffic",
            "router",
            "replica",
            "cable",
            "link",
            "island",
            "alarm",
            "cluster",
        ]
    ),
    edges=frozenset(
        {
            ("gate", "queue"),
            ("queue", "latency"),
            ("pool", "gate"),
            ("traffic", "pool"),
            ("router", "replica"),
            ("cable", "link"),
            ("gate", "alarm"),
            ("cluster", "gate"),
        }
    ),
    unnameable=frozenset({"alarm", "cluster"}),
)
EVERYTHING = GRAPH.nodes - GRAPH.unnameable


def share(named, true=("gate",)):
    return localisation_share(GRAPH, frozenset(named), frozenset(true))


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (["gate"], 1),
        (["queue"], 0.5),
        (["pool"], 0.5),
        (["latency"], 0.25),
        (["gate", "island"], 0.667),
        (["gate", "island", "router"], 0.5),
        (["queue", "latency"], 0.333),
        (["island"], 0),
        (EVERYTHING, 0),
        ([], 0),
    ],
)
def test_one_cause_is_located_as_the_specification_computes(named, expected):
    assert share(named) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (["gate"], 0.667),
        (["gate", "router", "island"], 0.8),
        (["queue", "replica"], 0.5),
        (["gate", "router"], 1),
    ],
)
def test_two_causes_are_located_as_the_specification_computes(named, expected):
    assert share(named, ["gate", "router"]) == pytest.approx(expected, abs=5e-4)


def test_a_name_and_two_neighbours_earn_no_more_than_one_name_with_strangers():
    assert share(["gate", "queue", "pool"]) == 0.5


def test_nothing_at_fault_is_located_by_naming_nothing():
    assert share([], []) == 1
    assert share(["gate"], []) == 0


def test_the_alarm_and_containers_cannot_be_named():
    assert nearness(GRAPH, "alarm", "gate") == nearness(GRAPH, "cluster", "gate") == 0
    assert nearness(GRAPH, "no such node", "gate") == 0


def test_hops_are_counted_along_edges_in_either_direction():
    assert GRAPH.hops("traffic", "latency") == 4
    assert GRAPH.hops("latency", "traffic") == 4
    assert GRAPH.hops("gate", "gate") == 0
    assert GRAPH.hops("gate", "island") is None
    assert nearness(GRAPH, "traffic", "latency") == 0


def test_of_several_accepted_answers_the_best_counts():
    one = localisation_part(GRAPH, ["queue"], [["gate"]])
    more = localisation_part(GRAPH, ["queue"], [["gate"], ["queue"], ["router", "queue"]])
    assert (one.earned, more.earned) == (10, 20)


def test_another_accepted_answer_never_lowers_the_mark():
    rng = random.Random("accepted:1")
    nodes = sorted(EVERYTHING)
    for _ in range(200):
        named = rng.sample(nodes, rng.randint(0, 4))
        answers = [rng.sample(nodes, rng.randint(1, 3)) for _ in range(3)]
        before = localisation_part(GRAPH, named, answers[:2]).earned
        assert localisation_part(GRAPH, named, answers).earned >= before


def test_a_healthy_control_pays_by_what_was_looked_at():
    part = localisation_part(GRAPH, [], [[]], looked=0.5)
    assert part.earned == 10
    assert "looked at 50%" in part.reason


def test_more_than_three_names_earn_nothing_and_the_reason_says_so():
    part = localisation_part(GRAPH, ["gate", "queue", "pool", "island"], [["gate"]])
    assert part.earned == 0
    assert "more than 3" in part.reason


def test_a_graph_without_an_edge_s_end_is_refused():
    with pytest.raises(ValueError, match="no nodes"):
        CausalGraph(frozenset("a"), frozenset({("a", "b")}))
    with pytest.raises(ValueError, match="at least one accepted answer"):
        localisation_part(GRAPH, [], [])


def test_the_matching_is_the_heaviest_of_all():
    rng = random.Random("matching:1")
    for _ in range(100):
        rows, columns = rng.randint(1, 3), rng.randint(1, 4)
        weights = [[rng.choice([0, 0.25, 0.5, 1]) for _ in range(columns)] for _ in range(rows)]
        padded = [[*row, 0, 0, 0] for row in weights]
        best = max(
            sum(row[c] for row, c in zip(padded, chosen, strict=True))
            for chosen in permutations(range(columns + 3), rows)
        )
        assert heaviest_matching(weights) == best
    assert heaviest_matching([]) == 0


def random_graph(rng):
    nodes = [f"n{k}" for k in range(8)]
    edges = {(a, b) for a in nodes for b in nodes if a != b and rng.random() < 0.15}
    return CausalGraph(frozenset(nodes), frozenset(edges)), nodes


def test_a_nearer_name_never_lowers_l():
    rng = random.Random("nearer:1")
    for _ in range(600):
        graph, nodes = random_graph(rng)
        true = frozenset(rng.sample(nodes, rng.randint(1, 3)))
        named = rng.sample(nodes, rng.randint(1, 3))
        before = localisation_share(graph, frozenset(named), true)
        for nearer in set(nodes) - set(named):
            if all(
                nearness(graph, nearer, truth) >= nearness(graph, named[0], truth) for truth in true
            ):
                closer = frozenset([nearer, *named[1:]])
                assert localisation_share(graph, closer, true) >= before - 1e-12


def test_a_name_beyond_a_full_match_always_lowers_l():
    rng = random.Random("beyond:1")
    for _ in range(300):
        graph, nodes = random_graph(rng)
        true = frozenset(rng.sample(nodes, rng.randint(1, 2)))
        more = rng.choice(sorted(set(nodes) - true))
        assert localisation_share(graph, true | {more}, true) < 1


def test_l_is_one_only_for_the_truth_itself():
    rng = random.Random("truth:1")
    for _ in range(600):
        graph, nodes = random_graph(rng)
        true = frozenset(rng.sample(nodes, rng.randint(1, 3)))
        named = frozenset(rng.sample(nodes, rng.randint(1, 4)))
        assert (localisation_share(graph, named, true) == 1) == (named == true)


def test_renaming_nodes_changes_nothing():
    rng = random.Random("names:1")
    for _ in range(100):
        graph, nodes = random_graph(rng)
        names = dict(zip(nodes, rng.sample([f"z{k}" for k in range(8)], 8), strict=True))
        other = CausalGraph(
            frozenset(names.values()), frozenset((names[a], names[b]) for a, b in graph.edges)
        )
        true, named = rng.sample(nodes, 2), rng.sample(nodes, 3)
        assert localisation_share(graph, frozenset(named), frozenset(true)) == pytest.approx(
            localisation_share(
                other, frozenset(names[n] for n in named), frozenset(names[n] for n in true)
            )
        )
