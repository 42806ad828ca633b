"""Every verb that measures, by area."""

from labs.instruments.sources import endings, front, hardware, inside, memory, serving, sglang
from labs.instruments.sources.source import Marks, NotMeasured, Source, always

__all__ = ["SOURCES", "Marks", "NotMeasured", "Source", "always"]

SOURCES: dict[str, Source] = {
    **serving.SOURCES,
    **hardware.SOURCES,
    **memory.SOURCES,
    **front.SOURCES,
    **endings.SOURCES,
    **inside.SOURCES,
    **sglang.SOURCES,
}
