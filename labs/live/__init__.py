"""A real engine behind a lab: started, loaded, measured and stopped over processes and HTTP. Nothing here imports torch or vLLM."""
