"""The marking of a lab: pure functions of the log, the information table and the re-runs."""
