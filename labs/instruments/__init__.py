"""Instruments measure a world. They render what it computed, in the formats that people know."""
