"""Chat templates that prompts begin with, and what a deploy does to the part of them that a cache can find again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.simulator.cluster import Cluster
    from labs.simulator.workload import RequestClass


@dataclass(slots=True, frozen=True)
class VolatileTemplate:
    """From now on a class's prompts differ from each other from token ``position`` of their template on.

    A date or an id of the request, put in near the front: the prompts are as long as before, and of their text only
    what stands before ``position`` is shared. The rest is everybody's own.
    """

    request_class: str
    position: int

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Shorten what is shared. Raises ValueError for a class without a template as long as that."""
        del at_s
        _change(cluster, self.request_class, self._volatile)

    def _volatile(self, kind: RequestClass) -> RequestClass:
        if not 0 < self.position < kind.prefix_tokens:
            raise ValueError(f"{kind.name}: its template has {kind.prefix_tokens} tokens")
        own = kind.prompt
        mean = own.mean + kind.prefix_tokens - self.position
        # As much more or less as before, in tokens: the template itself has one length.
        prompt = replace(own, mean=mean, cv=own.cv * own.mean / mean)
        return replace(kind, prefix_tokens=self.position, prompt=prompt)


@dataclass(slots=True, frozen=True)
class TemplateIs:
    """From now on a class's prompts are made as ``kind``'s are: its template and its lengths."""

    kind: RequestClass

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Give the class its template. Raises ValueError if there is no such class."""
        del at_s
        kind = self.kind
        _change(
            cluster,
            kind.name,
            lambda now: replace(
                now,
                prefix_group=kind.prefix_group,
                prefix_tokens=kind.prefix_tokens,
                prefix_base=kind.prefix_base,
                prompt=kind.prompt,
            ),
        )


@dataclass(slots=True, frozen=True)
class MoreTexts:
    """From now on a class's prompts begin with ``groups`` different texts: so many tenants, each with its own."""

    request_class: str
    groups: int

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Set how many there are. Raises ValueError if there is no such class."""
        del at_s
        _change(cluster, self.request_class, lambda kind: replace(kind, prefix_groups=self.groups))


@dataclass(slots=True, frozen=True)
class LongerPrompts:
    """From now on what a class's prompts say themselves, behind their template, has another mean, in tokens."""

    request_class: str
    mean_tokens: float

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Set the mean. Raises ValueError if there is no such class."""
        del at_s
        _change(
            cluster,
            self.request_class,
            lambda kind: replace(kind, prompt=replace(kind.prompt, mean=self.mean_tokens)),
        )


def _change(cluster: Cluster, name: str, changed: Callable[[RequestClass], RequestClass]) -> None:
    classes = cluster.workload.spec.classes
    if name not in {kind.name for kind in classes}:
        raise ValueError(f"no class {name!r} in the mix")
    cluster.workload.set_classes([changed(k) if k.name == name else k for k in classes])
