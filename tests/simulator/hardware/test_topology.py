import pytest

from labs.simulator.hardware.boxes import box
from labs.simulator.hardware.topology import (
    links_between,
    links_of,
    nvlinks_per_rank,
    other_end,
    path,
    worst_path,
)

SXM, NVL = box("h100-sxm-4"), box("h100-nvl-4")


def test_a_board_of_four_is_nv6_all_to_all():
    assert {path(SXM, a, b) for a in range(4) for b in range(4) if a != b} == {"NV6"}
    assert worst_path(SXM, (0, 1, 2, 3)) == "NV6"
    assert nvlinks_per_rank(SXM, (0, 1, 2, 3)) == 18


def test_bridged_pairs_have_nv12_inside_and_the_sockets_between_them():
    assert path(NVL, 0, 1) == path(NVL, 3, 2) == "NV12"
    assert path(NVL, 0, 2) == path(NVL, 1, 3) == "SYS"
    assert path(NVL, 2, 2) == "X"


def test_a_group_is_as_slow_as_its_slowest_pair():
    assert worst_path(NVL, (0, 1)) == "NV12"
    assert worst_path(NVL, (0, 1, 2, 3)) == worst_path(NVL, (1, 2)) == "SYS"
    assert nvlinks_per_rank(NVL, (0, 1, 2, 3)) == nvlinks_per_rank(NVL, (1, 2)) == 0


@pytest.mark.parametrize("its", [SXM, NVL])
def test_both_ends_of_a_link_name_each_other(its):
    for gpu in range(4):
        for index, peer in enumerate(links_of(its, gpu)):
            end = other_end(its, (gpu, index))
            assert end[0] == peer
            assert other_end(its, end) == (gpu, index)


def test_a_link_that_is_down_is_down_at_both_ends():
    down = {(0, 7)}  # The second of six to GPU 2.
    assert links_between(SXM, 0, 2, down) == links_between(SXM, 2, 0, down) == 5
    assert links_between(SXM, 0, 1, down) == 6
    assert worst_path(SXM, (0, 1, 2, 3), down) == "NV5"
    assert nvlinks_per_rank(SXM, (0, 1, 2, 3), down) == 15


def test_a_pair_without_any_link_left_speaks_over_pcie():
    down = {(0, index) for index in range(12)}
    assert path(NVL, 0, 1, down) == "NODE"
