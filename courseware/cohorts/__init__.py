"""Cohorts: people, dates and access. ``policy``, ``credit``, ``roster`` and ``timeline`` are pure."""
