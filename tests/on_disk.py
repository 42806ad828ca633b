"""A database that threads share: what happens at once in tests happens in a file, not in one connection's memory."""

import sqlite3
from contextlib import closing, contextmanager

from django.db import connection


@contextmanager
def on_disk(folder):
    """Let every new connection open what the database holds now as a real one: a file if it was in memory."""
    if connection.vendor != "sqlite":
        yield
        return
    name, file = connection.settings_dict["NAME"], folder / "site.sqlite3"
    with closing(sqlite3.connect(file)) as copy:
        connection.connection.backup(copy)
        # Two connections that turn it on at once: SQLite tells one of them that the file is locked, without a wait.
        copy.execute("PRAGMA journal_mode=WAL")
    connection.settings_dict["NAME"] = file
    try:
        yield
    finally:
        connection.settings_dict["NAME"] = name
