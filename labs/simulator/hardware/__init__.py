"""GPUs, what joins them, what slows them down, and what a step costs on them."""
