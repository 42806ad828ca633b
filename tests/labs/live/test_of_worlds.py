import pytest

from labs.catalogue import lab
from labs.live.boxes import box
from labs.live.faults.acts import Start
from labs.live.offering import NotServed, offer, play
from labs.worlds.draws import Draws

SEED = 7


def acts(slug, name, world, seed=SEED):
    return play(offer(lab(slug), box(name)), world, seed, as_written=True).acts


def environment(start: Start):
    return dict(start.env)


def test_p2p_is_turned_off_on_the_sick_replica_alone():
    (act,) = acts("slow-to-begin", "h100-nvl-4", "host_path")
    (start,) = act.starts
    assert environment(start) == {"NCCL_P2P_DISABLE": "1"}
    assert act.replica == Draws("slow-to-begin", SEED).choice("sick_replica", range(2))
    assert act.at_s == -600
    assert start.without_env("NCCL_P2P_DISABLE").env == ()


def test_a_power_cap_is_on_the_gpu_of_the_same_rank_of_the_same_replica():
    found = {acts("slow-to-begin", "h100-nvl-4", "cap", seed)[0].do[0] for seed in range(12)}
    gpus = {argv[2] for argv in found}
    # Replica 1 of the lab has GPUs 0,1 of another node, and 2,3 here.
    assert gpus == {"0", "1", "2", "3"}


def test_a_whole_box_that_is_capped_has_four_acts():
    found = acts("one-box-at-full-tilt", "h100-sxm-4", "power")
    assert [act.do[0][2] for act in found] == ["0", "1", "2", "3"]
    assert all(act.needs_root and act.undo for act in found)


def test_placement_and_binding_are_one_start_and_the_binding_is_of_the_new_gpus():
    (act,) = acts("the-audit-complains", "h100-nvl-4", "split")
    (start,) = act.starts
    assert start.seat.devices == (0, 2)
    assert start.flags[-4:] == ("--numa-bind", "--numa-bind-nodes", "1", "0")


def test_a_process_that_is_there_first_comes_before_the_deploy():
    found = acts("the-audit-complains", "h100-nvl-4", "guest")
    assert [bool(act.starts) for act in found] == [False, True]


def test_a_clock_cap_stands_for_heat_only_where_nothing_could_tell_them_apart():
    found = acts("slower-by-the-token", "h100-sxm-4", "clocks")
    assert [act.do[0][-2:] for act in found] == [("-lgc", found[0].do[0][-1])] * 4
    assert [act.undo[0][-1] for act in found] == ["-rgc"] * 4
    with pytest.raises(NotServed, match="no command makes a GPU hot"):
        acts("one-box-at-full-tilt", "h100-sxm-4", "heat")
    with pytest.raises(NotServed, match="no command makes a GPU hot"):
        acts("summaries-start-late", "h100-nvl-4", "clock")


def test_every_replica_loses_its_fast_kernels():
    (act,) = acts("slower-by-the-token", "h100-sxm-4", "linear")
    disabled = environment(act.starts[0])["VLLM_DISABLED_KERNELS"].split(",")
    assert "CutlassFP8ScaledMMLinearKernel" in disabled
    assert "MarlinFP8ScaledMMLinearKernel" not in disabled
    assert act.starts[0].without_env("VLLM_TEST_FORCE_FP8_MARLIN").env == ()


def test_a_caller_named_priority_goes_before_the_others():
    spec = lab("stuttering-streams")
    caller = spec.hypotheses["uncut"].world.inside.caller
    played = spec.model_copy(
        update={
            "fleet": spec.fleet.model_copy(update={"profile": "llama-70b"}),
            "hypotheses": {
                **spec.hypotheses,
                "uncut": spec.hypotheses["uncut"].model_copy(
                    update={
                        "world": spec.hypotheses["uncut"].world.model_copy(
                            update={
                                "inside": spec.hypotheses["uncut"].world.inside.model_copy(
                                    update={
                                        "caller": caller.model_copy(update={"whole_prefill": False})
                                    }
                                )
                            }
                        )
                    }
                ),
            },
        }
    )
    found = play(offer(played, box("h100-sxm-4")), "uncut", SEED)
    assert found.priorities == {"priority": -1}
    (act,) = found.acts
    words = act.starts[0].launch("log", as_written=True).argv
    assert words[words.index("--scheduling-policy") + 1] == "priority"


@pytest.mark.parametrize(
    ("slug", "world", "said"),
    [
        ("preemption-storm", "leak", "vLLM gives every block back"),
        ("answers-crawl", "slow_steps", "no command makes every step of a replica longer"),
        ("memory-over-ninety", "leak", "what grows is in an engine of our own"),
        ("late-starts-and-hitches", "collector", "the pauses are of an engine of our own"),
    ],
)
def test_what_no_real_means_makes_is_refused_with_why(slug, world, said):
    with pytest.raises(NotServed, match=said):
        acts(slug, "h100-sxm-4", world)


def test_a_gateway_that_reads_on_is_the_load_clients():
    assert acts("a-crowd-at-noon", "h100-sxm-4", "ghosts") == ()


def test_whatever_is_done_to_a_box_has_its_undo():
    for slug, name in [
        ("slow-to-begin", "h100-nvl-4"),
        ("good-and-bad-minutes", "h100-nvl-4"),
        ("one-box-at-full-tilt", "h100-sxm-4"),
        ("slower-by-the-token", "h100-sxm-4"),
        ("memory-over-ninety", "h100-sxm-4"),
    ]:
        found = offer(lab(slug), box(name))
        for world in found.spec.hypotheses:
            try:
                done = play(found, world, SEED).acts
            except NotServed:
                continue
            assert all(act.undo if act.do else act.starts for act in done)


def test_the_same_seed_does_the_same():
    assert acts("good-and-bad-minutes", "h100-nvl-4", "guest") == acts(
        "good-and-bad-minutes", "h100-nvl-4", "guest"
    )
