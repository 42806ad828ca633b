"""What a lab folder says, checked: ``lab.toml`` becomes a :class:`LabSpec` or a :class:`SpecError`.

Every quantity carries its unit in its name. Where a world's parameter may be a range ``[low, high]``, each
seed draws its own value, the same one in every hypothesis, so that no constant gives a world away.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

LAYERS = ("boundary", "overload", "memory", "compatibility", "lifetime")
type Layer = Literal["boundary", "overload", "memory", "compatibility", "lifetime"]
type Share = Annotated[float, Field(ge=0.0, le=1.0)]
type Seconds = Annotated[int, Field(ge=0)]


def _rising(span: tuple[float, float]) -> tuple[float, float]:
    if span[0] > span[1]:
        raise ValueError(f"a range is [low, high]; {span[0]:g} is above {span[1]:g}")
    return span


type Range = Annotated[tuple[float, float], AfterValidator(_rising)]
"""``[low, high]``: a seed draws uniformly between the two."""


class SpecError(ValueError):
    """A lab folder that cannot be served; the message names the file, the key and what to write."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Timeline(_Frozen):
    """Incident seconds; the page is at 0."""

    starts_at_s: Annotated[int, Field(lt=0)]
    """The engines start empty here; nothing before the healthy window is shown."""
    healthy_from_s: Annotated[int, Field(lt=0)]
    fault_at_s: Annotated[int, Field(lt=0)]
    """The healthy window ends and the fault begins."""
    budget_s: Annotated[int, Field(gt=0)]
    """The incident clock stops here: nothing that costs time can be done after it."""
    grid_s: tuple[int, ...]
    """Times at which the information table holds every world's signals."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.starts_at_s < self.healthy_from_s < self.fault_at_s:
            raise ValueError("starts_at_s, healthy_from_s and fault_at_s must rise in this order")
        if not self.grid_s or list(self.grid_s) != sorted(set(self.grid_s)) or self.grid_s[0] < 0:
            raise ValueError("grid_s must be rising times from 0 on")
        return self


class Alarm(_Frozen):
    """The page: p95 TTFT, as clients see it, over a window."""

    ttft_p95_above_s: Annotated[float, Field(gt=0)]
    window_s: Annotated[int, Field(gt=0)]


class Slo(_Frozen):
    """A promise to the users: this share of the offered requests stays within the limit."""

    title: str
    measure: Literal["ttft", "gap"]
    limit_s: Annotated[float, Field(gt=0)]
    target: Share


class Fleet(_Frozen):
    """The cluster before anything is changed. Ranges are drawn by the seed."""

    profile: str
    pool_blocks: Range
    """Usable KV blocks of 16 tokens, per rank."""
    max_num_seqs: tuple[int, ...]
    """One of these, by the seed."""
    max_num_batched_tokens: Annotated[int, Field(gt=0)]
    max_model_len: Annotated[int, Field(gt=0)]
    scheduler_reserve_full_isl: bool
    router_median_s: Annotated[float, Field(gt=0)]
    router_p95_s: Annotated[float, Field(gt=0)]
    restart_s: Seconds
    replica_ready_after_s: Seconds


class Traffic(_Frozen):
    """Poisson arrivals; prompt and output lengths are lognormal."""

    offered_load: Range
    """Tokens wanted over tokens held (Little's law) while healthy; the arrival rate follows from it."""
    prompt_mean_tokens: Range
    output_mean_tokens: Range
    length_cv: Annotated[float, Field(gt=0)]


class Burst(_Frozen):
    """Arrivals multiplied for a while, then back to what they were."""

    factor: Range
    lasts_s: Range


class LongPrompts(_Frozen):
    """A share of requests with long prompts, prefilled whole because chunking is off."""

    share: Range
    prompt_tokens: Range
    max_num_batched_tokens: Annotated[int, Field(gt=0)]


class World(_Frozen):
    """What is wrong in a hypothesis, from ``timeline.fault_at_s`` on. Nothing set: healthy."""

    offered_load: Range | None = None
    """The demand that replaces the healthy one."""
    base_offered_load: Range | None = None
    """The demand before and after, where it must differ from ``traffic.offered_load``."""
    burst: Burst | None = None
    router_median_s: Range | None = None
    leaked_share: Range | None = None
    """Share of the pool's blocks that finished requests never give back, lost over ``leak_over_s``."""
    leak_over_s: Seconds = 0
    long_prompts: LongPrompts | None = None


class MechanismCredit(_Frozen):
    mechanism: str
    credit: Annotated[float, Field(gt=0, le=1)]


class ChainLink(_Frozen):
    """One link of the proof: any of these signals, in this role."""

    signals: Annotated[tuple[str, ...], Field(min_length=1)]
    role: Literal["shows", "rules_out"]
    rules_out: str | None = None
    cause: bool = False

    @model_validator(mode="after")
    def _names_the_rival(self) -> Self:
        if (self.role == "rules_out") != (self.rules_out is not None):
            raise ValueError("rules_out names a hypothesis exactly when role is 'rules_out'")
        return self


class Below(_Frozen):
    """A predicate on the mechanism's own state: this signal is below this value."""

    signal: str
    below: float


class Answer(_Frozen):
    """What is true in a hypothesis, for marking."""

    layer: Layer
    components: tuple[tuple[str, ...], ...]
    """Accepted sets of nodes of the causal graph."""
    mechanisms: tuple[MechanismCredit, ...]
    parameter: Literal["offered_load", "none"] = "none"
    parameter_tolerance: Annotated[float, Field(gt=0)] = 0.2
    chain: tuple[ChainLink, ...]
    cause_gone: Annotated[tuple[Below, ...], Field(min_length=1)]
    """All must hold at the end of the window; muting the alarm does not make them hold."""
    relapse_replay: bool = False
    """Whether the trigger comes again after the fix, which must then heal by itself."""


class Hypothesis(_Frozen):
    title: str
    prior: Annotated[float, Field(gt=0, le=1)]
    served: bool = False
    """Whether learners meet this world, or it is only a rival to tell apart."""
    world: World
    answer: Answer


class SignalSpec(_Frozen):
    title: str
    unit: str
    transform: Literal["id", "ln", "ln1p", "logit"]
    resolution: Annotated[float, Field(gt=0)]
    healthy_decimals: Annotated[int, Field(ge=0, le=4)] = 2


class InstrumentSpec(_Frozen):
    title: str
    question: str
    command: str
    cost_s: Seconds
    disturbance_s: Annotated[float, Field(ge=0)] = 0.0
    slowdown: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """How much longer every engine step takes while it measures."""
    signals: Annotated[tuple[str, ...], Field(min_length=1)]
    is_alarm: bool = False


class ChangeSpec(_Frozen):
    title: str
    note: str
    command: str
    cost_s: Seconds


class Mechanism(_Frozen):
    title: str


class Node(_Frozen):
    """A node of the causal graph; edges run from cause to effect."""

    title: str
    causes: tuple[str, ...] = ()
    nameable: bool = True
    """The alarm and containers stand in the graph but cannot be named."""


class Prediction(_Frozen):
    question: str
    unit: str
    at_s: Seconds
    """The world, left alone, is measured here."""


class MitigationSpec(_Frozen):
    settle_s: Seconds
    window_s: Annotated[int, Field(gt=0)]
    follow_s: Seconds = 150
    """The world runs on after the window, so that its last requests can finish."""
    heal_within_s: Seconds = 900
    """A replayed trigger must be over by then."""


class Rubric(_Frozen):
    """One point that a grader gives or withholds for the explanation."""

    title: str
    points: Annotated[int, Field(gt=0)]


class LabSpec(_Frozen):
    slug: str
    version: Annotated[int, Field(ge=1)]
    number: str
    title: str
    summary: str
    minutes: Annotated[int, Field(gt=0)]
    diagnosis_budget_s: Annotated[int, Field(gt=0)]
    timeline: Timeline
    alarm: Alarm
    slos: dict[str, Slo]
    fleet: Fleet
    traffic: Traffic
    hypotheses: dict[str, Hypothesis]
    signals: dict[str, SignalSpec]
    instruments: dict[str, InstrumentSpec]
    changes: dict[str, ChangeSpec]
    nodes: dict[str, Node]
    mechanisms: dict[str, Mechanism]
    prediction: Prediction
    mitigation: MitigationSpec
    rubric: tuple[Rubric, ...]

    @model_validator(mode="after")
    def _refers_to_what_exists(self) -> Self:
        for where, name, known in self._references():
            if name not in known:
                raise ValueError(f"{where} names {name!r}; known: {', '.join(sorted(known))}")
        if len(self.hypotheses) < 2:  # noqa: PLR2004
            raise ValueError("hypotheses: a lab needs at least two worlds behind its alarm")
        if not any(hypothesis.served for hypothesis in self.hypotheses.values()):
            raise ValueError("hypotheses: at least one must be served = true")
        return self

    def _references(self) -> Iterator[tuple[str, str, Collection[str]]]:
        """Return (where it stands, the name, the names that exist) for every name that one part uses of another."""
        for key, node in self.nodes.items():
            yield from ((f"nodes.{key}.causes", name, self.nodes) for name in node.causes)
        for key, instrument in self.instruments.items():
            where = f"instruments.{key}.signals"
            yield from ((where, name, self.signals) for name in instrument.signals)
        for key, hypothesis in self.hypotheses.items():
            where, answer = f"hypotheses.{key}.answer", hypothesis.answer
            for accepted in answer.components:
                yield from ((f"{where}.components", name, self.nodes) for name in accepted)
            for credit in answer.mechanisms:
                yield f"{where}.mechanisms", credit.mechanism, self.mechanisms
            for link in answer.chain:
                yield from ((f"{where}.chain", name, self.signals) for name in link.signals)
                if link.rules_out is not None:
                    yield f"{where}.chain", link.rules_out, self.hypotheses
            for predicate in answer.cause_gone:
                yield f"{where}.cause_gone", predicate.signal, self.signals

    @property
    def priors(self) -> dict[str, float]:
        """Return the prior of each hypothesis, scaled to sum 1."""
        total = sum(hypothesis.prior for hypothesis in self.hypotheses.values())
        return {key: hypothesis.prior / total for key, hypothesis in self.hypotheses.items()}

    @property
    def served(self) -> tuple[str, ...]:
        return tuple(key for key, hypothesis in self.hypotheses.items() if hypothesis.served)


def load_spec(folder: Path) -> LabSpec:
    """Read ``folder/lab.toml``.

    Raises SpecError, one line a fault, each with the file, the key and what is wrong with it.
    """
    path = folder / "lab.toml"
    name = f"{folder.name}/lab.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        raise SpecError(f"{name}: there is no such file; every lab folder needs one") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise SpecError(f"{name}: not valid TOML: {exc}") from exc
    try:
        return LabSpec.model_validate({"slug": folder.name, **data})
    except ValidationError as exc:
        faults = [
            f"{name}: {'.'.join(str(part) for part in error['loc']) or 'the lab'}: {error['msg']}"
            for error in exc.errors()
        ]
        raise SpecError("\n".join(faults)) from exc
