"""The outbox, and a broker that takes a connection and then says nothing."""

import socket
import time

import pytest
from celery import current_app
from kombu.exceptions import OperationalError

from labs import outbox


def test_a_broker_that_hangs_is_given_up_soon(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        monkeypatch.setattr(current_app.conf, "broker_write_url", address)
        began = time.monotonic()
        with pytest.raises(OperationalError):
            outbox.publish(outbox.EXECUTE, 1)
        assert time.monotonic() - began < 4
