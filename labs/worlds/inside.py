"""What is special within a lab's engines, and what goes wrong there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labs.simulator.callers import NewCaller
from labs.simulator.kernels import ATTENTION_BACKENDS, Kernels, KernelsChosen
from labs.simulator.pauses import Pause, Pauses
from labs.simulator.templates import LongerPrompts, MoreTexts, VolatileTemplate
from labs.simulator.workload import LengthDistribution, RequestClass
from labs.worlds.traffic import MAX_OUTPUT_TOKENS, MAX_PROMPT_TOKENS, chat

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.faults import Fault
    from labs.simulator.scheduler import EngineConfig
    from labs.specs import LabSpec
    from labs.specs import World as FaultyWorld
    from labs.specs.engine import Caller, EngineWorld, Fallback, Pausing
    from labs.worlds.draws import Draws
    from labs.worlds.fleet import Fleet


TEMPLATE = "template"
"""Name of the text that prompts begin with."""


BEST = Kernels(attention_backend="FLASH_ATTN", linear_kernel="CutlassFP8ScaledMMLinearKernel")
"""What an FP8 model's server chooses on an H100, if nothing stands in its way."""
FORCED = "VLLM_TEST_FORCE_FP8_MARLIN"
"""vLLM's variable that has FP8 layers use the weights-only kernel."""
MISSING = "FlashAttention is not installed in this image"


@dataclass(frozen=True)
class Redeployed:
    """Every engine is restarted with another config, a deploy by somebody else."""

    config: EngineConfig
    down_s: float

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Restart them all at once."""
        del at_s
        for replica in range(len(cluster.engines)):
            cluster.restart_engine(replica, self.config, cluster.cost, self.down_s)


def fleet(spec: LabSpec, common: Fleet, draws: Draws) -> Fleet:
    """Return the fleet with what is special about this lab's engines."""
    del draws
    said = spec.fleet.inside
    if said is None:
        return common
    config = replace(common.config, allow_whole_prefill=said.allow_whole_prefill)
    if said.template is not None:
        config = replace(config, enable_prefix_caching=True, prefix_hashing="groups")
    return replace(common, config=config)


def deployed(fault: FaultyWorld | None, common: Fleet) -> Fleet:
    """Return what the fleet runs with from the fault on: what flags show, and what a restart starts from."""
    if fault is None or fault.inside is None or fault.inside.deploy is None:
        return common
    budget = fault.inside.deploy.max_num_batched_tokens
    return replace(common, config=replace(common.config, max_num_batched_tokens=budget))


def prepare(spec: LabSpec, cluster: Cluster, fleet: Fleet, draws: Draws) -> None:
    """Set up what the lab has of it, before the world begins; in every world of a seed the same."""
    del fleet
    if spec.fleet.inside is not None and spec.fleet.inside.tells_kernels:
        cluster.kernels.update(dict.fromkeys(range(spec.fleet.replicas), BEST))
    if spec.fleet.inside is not None and spec.fleet.inside.template is not None:
        classes = cluster.workload.spec.classes
        cluster.workload.set_classes([_templated(spec, kind, draws) for kind in classes])


def templated(spec: LabSpec, draws: Draws) -> RequestClass:
    """Return the requests of ordinary users as they are before anything goes wrong, template included."""
    return _templated(spec, chat(spec, draws), draws)


def _templated(spec: LabSpec, kind: RequestClass, draws: Draws) -> RequestClass:
    said = spec.fleet.inside
    if said is None or said.template is None:
        return kind
    return replace(
        kind,
        prefix_group=TEMPLATE,
        prefix_tokens=round(draws.uniform("template", said.template.tokens)),
        prefix_groups=said.template.tenants,
    )


def faults(spec: LabSpec, ails: EngineWorld, draws: Draws, fleet: Fleet) -> list[Fault]:
    """Return what happens when the fault begins."""
    found: list[Fault] = []
    if ails.caller is not None:
        found.append(_caller(ails.caller, draws))
    if ails.pausing is not None:
        pause = _pause(ails.pausing, draws)
        found += [Pauses(replica, (pause,)) for replica in range(spec.fleet.replicas)]
    if ails.deploy is not None:
        said = ails.deploy
        config = replace(fleet.config, max_num_batched_tokens=said.max_num_batched_tokens)
        found.append(Redeployed(config, said.down_s))
    if ails.fallback is not None:
        kernels = _kernels(ails.fallback, draws)
        down_s = ails.fallback.down_s
        found += [KernelsChosen(each, kernels, down_s) for each in range(spec.fleet.replicas)]
    return [*found, *_texts(spec, ails, draws)]


def _kernels(said: Fallback, draws: Draws) -> Kernels:
    launch_ms = draws.uniform("launch_ms", said.launch_ms)
    factor = draws.uniform(f"{said.what}_factor", said.factor)
    if said.what == "linear":
        return replace(
            BEST,
            linear_kernel="MarlinFP8ScaledMMLinearKernel",
            linear_unsupported=((BEST.linear_kernel, f"{FORCED}=1"),),
            prefill_factor=factor,
            launch_ms=launch_ms,
        )
    return replace(
        BEST,
        attention_backend="FLEX_ATTENTION",
        attention_unsupported=tuple((name, MISSING) for name in ATTENTION_BACKENDS[:3]),
        full_graphs=False,
        attention_factor=factor,
        launch_ms=launch_ms,
    )


def _texts(spec: LabSpec, ails: EngineWorld, draws: Draws) -> list[Fault]:
    """Return what happens to what prompts say."""
    kind = templated(spec, draws)
    found: list[Fault] = []
    if ails.volatile_from_token is not None:
        position = round(draws.uniform("volatile_from", ails.volatile_from_token))
        found.append(VolatileTemplate(kind.name, position))
    if ails.tenants_factor is not None:
        factor = draws.uniform("tenants_factor", ails.tenants_factor)
        found.append(MoreTexts(kind.name, round(factor * kind.prefix_groups)))
    if ails.prompt_mean_tokens is not None:
        mean_tokens = draws.uniform("longer_prompts", ails.prompt_mean_tokens)
        found.append(LongerPrompts(kind.name, mean_tokens))
    return found


def _caller(said: Caller, draws: Draws) -> NewCaller:
    kind = RequestClass(
        name=said.name,
        share=1.0,
        prompt=LengthDistribution(
            draws.uniform("caller_prompt", said.prompt_tokens),
            said.prompt_cv,
            maximum=MAX_PROMPT_TOKENS,
        ),
        output=LengthDistribution(
            draws.uniform("caller_output", said.output_tokens), 0.3, maximum=MAX_OUTPUT_TOKENS
        ),
        whole_prefill=said.whole_prefill,
    )
    return NewCaller(kind, draws.uniform("caller_rate", said.rate))


def _pause(said: Pausing, draws: Draws) -> Pause:
    pause_s = draws.uniform("pause", said.pause_s)
    if said.every_steps is not None:
        return Pause(pause_s, every_steps=round(draws.uniform("pause_steps", said.every_steps)))
    if said.every_s is None:
        raise ValueError("a pause has a period")
    return Pause(pause_s, every_s=draws.uniform("pause_every", said.every_s))
