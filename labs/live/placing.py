"""Which GPUs of a box a replica gets: pure, from a lab's fleet to seats, and from one placement to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from labs.simulator.hardware.boxes import box as hardware_named
from labs.simulator.hardware.topology import worst_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labs.live.boxes import Box
    from labs.specs import LabSpec
    from labs.specs.hardware import HardwareFleet


class Unplaceable(ValueError):  # noqa: N818
    """Replicas that a box has no GPUs for; the message is a sentence for whoever reads it."""


@dataclass(frozen=True)
class Seat:
    """Where a replica runs on a box."""

    replica: int
    port: int
    devices: tuple[int, ...] = ()
    """GPU indices in order of rank, as ``nvidia-smi`` counts them; empty: the CPU."""

    @property
    def cuda_visible_devices(self) -> str:
        """Return what its processes are told."""
        return ",".join(map(str, self.devices))


def seats_of(spec: LabSpec, box: Box) -> tuple[Seat, ...]:
    """Return the seats of a lab's replicas on a box that serves the lab's profile (``boxes.for_profile``).

    A lab whose fleet has several nodes is moved together onto this one, each replica on GPUs that are joined as its own
    are. Raises Unplaceable.
    """
    count = spec.fleet.replicas
    if not box.devices:
        return tuple(Seat(replica, box.first_port + replica) for replica in range(count))
    ranks = box.tensor_parallel_size
    if count * ranks > len(box.devices):
        raise Unplaceable(
            f"{_many(count, 'replica')} on {_many(ranks, 'GPU')} each need {count * ranks}; {box.name} has {len(box.devices)}"
        )
    said = spec.fleet.hardware
    groups = _spread(box, count, ranks) if said is None else _as_said(said, box)
    return tuple(
        Seat(replica, box.first_port + replica, gpus) for replica, gpus in enumerate(groups)
    )


def _as_said(said: HardwareFleet, box: Box) -> list[tuple[int, ...]]:
    if said.box != box.hardware:
        raise Unplaceable(f"the lab is made for {said.box}, which {box.name} is not")
    taken: list[tuple[int, ...]] = []
    for replica, (_, gpus) in enumerate(said.placement):
        if len(gpus) != box.tensor_parallel_size:
            raise Unplaceable(
                f"replica {replica} is placed on {_many(len(gpus), 'GPU')}, and the model of {box.name} takes {box.tensor_parallel_size}"
            )
        alike = [gpus, *(each for each in _groups(box, len(gpus)) if _alike(box, each, gpus))]
        free = next((each for each in alike if _is_free(each, taken)), None)
        if free is None:
            raise Unplaceable(
                f"no GPUs of {box.name} are left for replica {replica} that are joined as {_list(gpus)} are"
            )
        taken.append(free)
    return taken


def _spread(box: Box, count: int, ranks: int) -> list[tuple[int, ...]]:
    """Return the first groups that are joined throughout, or any if there are none."""
    taken: list[tuple[int, ...]] = []
    best_first = sorted(_groups(box, ranks), key=lambda gpus: not joined(box, gpus))
    for _ in range(count):
        taken.append(next(each for each in best_first if _is_free(each, taken)))
    return taken


def _groups(box: Box, ranks: int) -> Iterator[tuple[int, ...]]:
    return combinations(box.devices, ranks)


def _is_free(gpus: Sequence[int], taken: Sequence[Sequence[int]]) -> bool:
    return not any(set(gpus) & set(each) for each in taken)


def _alike(box: Box, one: Sequence[int], other: Sequence[int]) -> bool:
    return worst_link(box, one) == worst_link(box, other)


def worst_link(box: Box, gpus: Sequence[int]) -> str:
    """Return the slowest link of a group in the words of ``topo -m``, as the simulator's box of that name has it."""
    return worst_path(hardware_named(box.hardware), tuple(gpus))


def joined(box: Box, gpus: Sequence[int]) -> bool:
    """Return whether NVLink joins every two GPUs of a group."""
    return all((min(pair), max(pair)) in box.pairs for pair in combinations(gpus, 2))


def moved(
    seats: Sequence[Seat], replica: int, gpus: Sequence[int], box: Box, node: str = ""
) -> tuple[Seat, ...]:
    """Return the seats once a replica is on other GPUs: what ``place R a,b`` does. Raises Unplaceable."""
    wanted = tuple(gpus)
    if node:
        raise Unplaceable(f"place: {box.name} is one machine; there is no {node}")
    if not 0 <= replica < len(seats):
        raise Unplaceable(f"place: there is no replica {replica}; there are {len(seats)}")
    if len(set(wanted)) != len(wanted) or len(wanted) != box.tensor_parallel_size:
        raise Unplaceable(
            f"place: the model runs on {_many(box.tensor_parallel_size, 'GPU')}; {_list(wanted)} are not as many"
        )
    unknown = [gpu for gpu in wanted if gpu not in box.devices]
    if unknown:
        raise Unplaceable(f"place: there is no GPU {unknown[0]}; there are {_list(box.devices)}")
    for each in seats:
        both = sorted(set(each.devices) & set(wanted))
        if each.replica != replica and both:
            raise Unplaceable(f"place: replica {each.replica} runs on GPU {_list(both)}")
    return tuple(
        replace(each, devices=wanted) if each.replica == replica else each for each in seats
    )


def misplaced(
    seats: Sequence[Seat], replica: int, gpus: Sequence[int], box: Box
) -> tuple[Seat, ...]:
    """Return the seats of a world in which one replica has the wrong GPUs, and only that one. Raises Unplaceable."""
    held = [each for each in seats if each.replica != replica and set(each.devices) & set(gpus)]
    if held:
        rest = sorted(set(box.devices) - set(gpus))
        raise Unplaceable(
            f"with replica {replica} on GPUs {_list(gpus)}, replica {held[0].replica} is left with {_list(rest)}, "
            f"which {worst_link(box, rest)} joins as well: two replicas would be slow, not one. It takes a second box"
        )
    return moved(seats, replica, gpus, box)


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _list(gpus: Sequence[int]) -> str:
    return ",".join(map(str, gpus))
