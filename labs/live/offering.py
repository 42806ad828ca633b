"""Whether a box can serve a lab, and how: its replicas' starts, and what each world does to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labs import worlds
from labs.live.boxes import BoxError, for_profile
from labs.live.faults.acts import Cannot, Start
from labs.live.faults.of_worlds import PRIORITY, Where, acts_of
from labs.live.iterations import FLAG
from labs.live.placing import Unplaceable, seats_of
from labs.simulator.cost_model import profile
from labs.simulator.memory.ledger import SHAPES
from labs.worlds import memory as memory_world
from labs.worlds.build import HEALTHY
from labs.worlds.draws import Draws

if TYPE_CHECKING:
    from labs.live.boxes import Box
    from labs.live.faults.acts import Act
    from labs.specs import LabSpec
    from labs.worlds.build import World


class NotServed(ValueError):  # noqa: N818
    """A lab, or a world of it, that a box cannot play; the message is a sentence that says why."""


@dataclass(frozen=True)
class Offer:
    """A lab on a box."""

    spec: LabSpec
    """As it is played: its profile is the box's."""
    box: Box
    """As it serves the lab's profile."""
    notes: tuple[str, ...]


def offer(spec: LabSpec, box: Box) -> Offer:
    """Return a lab as a box would play it. Raises NotServed."""
    fleet = spec.fleet
    if fleet.engine != "vllm":
        raise NotServed(f"its servers are {fleet.engine}, and the box starts vLLM")
    if fleet.memory is not None and fleet.memory.lazy_capture:
        raise NotServed(
            "its engine captures graphs late, which vLLM does not: it is an engine of our own"
        )
    if fleet.front is not None and (fleet.front.rolling or fleet.front.turnover):
        if box.devices:
            raise NotServed(
                "its replicas are replaced in turn, and a 70B takes minutes to start: longer than the lab's turns"
            )
        if box.url:
            raise NotServed(
                f"its replicas are replaced in turn, and the engine of {box.name} is run by somebody else"
            )
    try:
        serves = for_profile(box, fleet.profile)
        played, notes = _played(spec, serves)
        seats_of(played, serves)
    except (BoxError, Unplaceable) as exc:
        raise NotServed(str(exc)) from exc
    _fits(played, serves)
    if box.url and spec.live is not None and spec.live.flags:
        raise NotServed(
            f"its engine is started with {' '.join(spec.live.flags)}, and the one of {box.name} is run by somebody else"
        )
    return Offer(played, serves, notes)


def _played(spec: LabSpec, box: Box) -> tuple[LabSpec, tuple[str, ...]]:
    """Return the lab with the box's profile, and what has to be said of that. Raises NotServed."""
    served = box.simulator_profile
    notes = []
    if spec.fleet.hardware is not None and spec.fleet.hardware.nodes > 1:
        notes.append(
            f"The lab has {spec.fleet.hardware.nodes} nodes; here all replicas run on one, and no box stands by."
        )
    if spec.fleet.profile == served:
        return spec, tuple(notes)
    if not box.devices:
        raise NotServed(
            f"it is made for {spec.fleet.profile}, and {box.name} serves {served}: it takes a live.toml for this box"
        )
    if spec.traffic.rate is not None:
        raise NotServed(
            f"its rates are those of {spec.fleet.profile}, a model that does not exist; {served} needs others: it takes a live.toml for this box"
        )
    if spec.fleet.memory is not None and served not in SHAPES:
        raise NotServed(f"its memory is followed, and the simulator has no ledger of {served}")
    fleet = spec.fleet.model_copy(
        update={"profile": served, "tensor_parallel_size": box.tensor_parallel_size}
    )
    notes.append(
        f"{spec.fleet.profile} does not exist: {served} serves, and the arrival rate follows from what its steps cost."
    )
    notes.append(
        "The lab's table and proof are of the other model: compute them at this scale (live.toml) before anybody is marked here."
    )
    return spec.model_copy(update={"fleet": fleet}), tuple(notes)


def _fits(spec: LabSpec, box: Box) -> None:
    """Raise NotServed for pools that do not fit beside the weights, by the simulator's profile of the model."""
    if not box.devices or (spec.fleet.memory is not None and spec.fleet.memory.sizes_pool):
        return
    room = profile(spec.fleet.profile).usable_blocks
    most = round(spec.fleet.pool_blocks[1])
    if most > room:
        raise NotServed(
            f"it draws pools of up to {most:,} blocks, and {spec.fleet.profile} leaves about {room:,} on {box.name} (derived, not measured)"
        )


@dataclass(frozen=True)
class Played:
    """A world of a lab on a box, from a seed: the same each time."""

    offer: Offer
    hypothesis: str
    seed: int
    world: World
    """The simulator's, not advanced: its traffic is what the load client sends."""
    starts: tuple[Start, ...]
    acts: tuple[Act, ...]

    @property
    def priorities(self) -> dict[str, int]:
        """Classes of requests that carry a priority from the fault on, lower goes first: the load client sends it."""
        if self.hypothesis == HEALTHY:
            return {}
        inside = self.offer.spec.hypotheses[self.hypothesis].world.inside
        caller = None if inside is None else inside.caller
        return {PRIORITY: -1} if caller is not None and caller.name == PRIORITY else {}


def play(found: Offer, hypothesis: str, seed: int, *, as_written: bool = False) -> Played:
    """Return a world as it would be played. Raises NotServed for one that no real means makes.

    ``as_written`` leaves paths and variables as the profile has them, for reading.
    """
    spec, box = found.spec, found.box
    world = worlds.build(spec, hypothesis, seed)
    healthy = worlds.build(spec, HEALTHY, seed).fleet
    fault = None if hypothesis == HEALTHY else spec.hypotheses[hypothesis].world
    whole = fault is not None and fault.long_prompts is not None
    flags = (FLAG, *(() if spec.live is None else spec.live.flags))
    told = _sized(found, world, seed)
    starts = tuple(
        Start(told, world.fleet.config if whole else healthy.config, seat, flags=flags)
        for seat in seats_of(spec, box)
    )
    if hypothesis == HEALTHY:
        return Played(found, hypothesis, seed, world, starts, ())
    where = Where(spec, box, starts, seed, healthy, as_written=as_written, hypothesis=hypothesis)
    try:
        acts = acts_of(where)
    except Cannot as exc:
        raise NotServed(f"world {hypothesis}: {exc}") from exc
    if box.url and (acts or whole):
        raise NotServed(
            f"world {hypothesis}: its engine is started in another way, and the one of {box.name} is run by somebody else"
        )
    return Played(found, hypothesis, seed, world, starts, acts)


def _sized(found: Offer, world: World, seed: int) -> Box:
    """Return the box with the share of the memory that a lab's seed draws, where the engine sizes its pool itself."""
    said = found.spec.fleet.memory
    if said is None or not said.sizes_pool:
        return found.box
    flags = memory_world.flags(said, world.fleet, Draws(found.spec.slug, seed))
    share = flags.gpu_memory_utilization
    return replace(found.box, kv_bytes_per_token=0, gpu_memory_utilization=share)


def unserved(spec: LabSpec, box: Box, seed: int) -> dict[str, str]:
    """Return why the served worlds of a lab cannot be played on a box: by world, '' for the whole lab; empty if all can.

    A lab is offered on a box only if nothing is in it.
    """
    try:
        found = offer(spec, box)
    except NotServed as exc:
        return {"": str(exc)}
    why: dict[str, str] = {}
    for name in spec.served:
        try:
            play(found, name, seed)
        except NotServed as exc:
            why[name] = str(exc)
    return why
