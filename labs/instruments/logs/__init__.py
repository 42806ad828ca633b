"""What an engine writes to its log, in vLLM 0.32's formats."""

from labs.instruments.logs.entries import Entry, Settings
from labs.instruments.logs.kernels import Kernels
from labs.instruments.logs.vllm import engine_log, iteration_lines

__all__ = ["Entry", "Kernels", "Settings", "engine_log", "iteration_lines"]
