"""Drills: one symptom, one decision at a time. Pure but for what imports it."""
