"""A serving engine, step by step: vLLM V1's scheduling rules on a clock that costs nothing to wait for.

Pure standard library. Times are simulated seconds; inside, the clock is a whole number of
picoseconds, so that sums do not depend on their order and a run is the same bytes everywhere.
"""
