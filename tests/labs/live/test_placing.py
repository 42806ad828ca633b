import pytest

from labs.catalogue import lab
from labs.live.boxes import box, for_profile
from labs.live.placing import Unplaceable, joined, misplaced, moved, seats_of, worst_link

SXM = for_profile(box("h100-sxm-4"), "llama-70b")
NVL = for_profile(box("h100-nvl-4"), "llama-70b-nvl")


def devices(spec, where):
    return [seat.devices for seat in seats_of(spec, where)]


def test_a_replica_of_four_takes_the_whole_board():
    (seat,) = seats_of(lab("one-box-at-full-tilt"), SXM)
    assert (seat.port, seat.cuda_visible_devices) == (8100, "0,1,2,3")


def test_replicas_of_two_nodes_move_together_each_on_a_bridged_pair():
    assert devices(lab("slow-to-begin"), NVL) == [(0, 1), (2, 3)]
    assert [seat.port for seat in seats_of(lab("slow-to-begin"), NVL)] == [8100, 8101]


def test_a_lab_without_hardware_gets_gpus_that_are_joined():
    assert devices(lab("preemption-storm"), NVL) == [(0, 1)]


def test_without_gpus_a_seat_is_a_port():
    (seat,) = seats_of(lab("preemption-storm"), box("cpu"))
    assert (seat.devices, seat.port, seat.cuda_visible_devices) == ((), 8100, "")


def test_too_many_replicas_are_refused_with_their_number():
    with pytest.raises(Unplaceable, match="4 replicas on 4 GPUs each need 16; h100-sxm-4 has 4"):
        seats_of(lab("late-in-turns"), SXM)


def test_a_lab_of_another_box_is_refused():
    with pytest.raises(Unplaceable, match="made for h100-nvl-4, which h100-sxm-4 is not"):
        seats_of(lab("good-and-bad-minutes"), SXM)


def test_a_replica_is_moved_and_the_others_stay():
    seats = seats_of(lab("good-and-bad-minutes"), NVL)
    assert moved(seats, 0, (2, 3), NVL)[0].devices == (2, 3)


@pytest.mark.parametrize(
    ("replica", "gpus", "node", "said"),
    [
        (0, (2, 3), "", "replica 1 runs on GPU 2,3"),
        (0, (0, 1), "node-b", "there is no node-b"),
        (2, (0, 1), "", "there is no replica 2"),
        (0, (0,), "", "the model runs on 2 GPUs"),
        (0, (0, 0), "", "the model runs on 2 GPUs"),
        (0, (0, 7), "", "there is no GPU 7"),
    ],
)
def test_a_place_that_cannot_be_says_why(replica, gpus, node, said):
    seats = seats_of(lab("slow-to-begin"), NVL)
    with pytest.raises(Unplaceable, match=said):
        moved(seats, replica, gpus, NVL, node)


def test_one_replica_alone_can_be_put_across_the_pairs():
    seats = seats_of(lab("the-audit-complains"), NVL)
    (seat,) = misplaced(seats, 0, (0, 2), NVL)
    assert seat.devices == (0, 2)
    assert worst_link(NVL, seat.devices) == "SYS"


def test_one_of_two_cannot_for_the_other_would_be_across_them_too():
    seats = seats_of(lab("summaries-start-late"), NVL)
    with pytest.raises(Unplaceable, match="replica 1 is left with 1,3, which SYS joins as well"):
        misplaced(seats, 0, (0, 2), NVL)


def test_what_is_joined_is_what_the_profile_says():
    assert joined(NVL, (2, 3))
    assert not joined(NVL, (1, 2))
    assert joined(SXM, (0, 1, 2, 3))
