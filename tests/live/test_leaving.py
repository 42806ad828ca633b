"""What vLLM 0.32 does when it is told to stop with streams in flight: what labs with stops rely on."""

import http.client
import json
import time

import pytest

from labs.live import servers

from .conftest import TINY

TIME_S = 4
"""Its ``--shutdown-timeout``: enough for the short answer, and not for the long one."""
WITHIN_S = 20
PAUSE_S = 1.5
"""A stream that sends nothing for so long stands still: a step takes a hundredth of that."""


@pytest.fixture
def asked():
    """``asked(server, max_tokens)``: a stream that has its answer's head; it is closed at the end."""
    opened = []

    def ask(server, max_tokens):
        connection = http.client.HTTPConnection("127.0.0.1", server.launch.port, timeout=PAUSE_S)
        opened.append(connection)
        body = {
            "model": "small-llama",
            "prompt": [7] * 20,
            "max_tokens": max_tokens,
            "ignore_eos": True,
            "stream": True,
        }
        kind = {"Content-Type": "application/json"}
        connection.request("POST", "/v1/completions", json.dumps(body), kind)
        opened.append(connection.getresponse())
        return opened[-1]

    yield ask
    for each in opened:
        each.close()


def tokens_of(answer):
    """(how many tokens a stream brings from here, how it ends)."""
    count = 0
    try:
        for line in answer:
            if line.startswith(b"data: [DONE]"):
                return count, "whole"
            count += line.startswith(b"data: {")
    except TimeoutError:
        return count, "silent"
    return count, "broken off"


def test_a_server_that_is_told_to_stop_ends_what_it_can_and_leaves_the_rest_without_a_word(
    start_engine, asked
):
    server = start_engine("small-llama", TINY, "--shutdown-timeout", str(TIME_S))
    short, long = asked(server, 60), asked(server, 950)
    assert short.readline().startswith(b"data: {")
    servers.tell_to_stop(server, within_s=WITHIN_S)
    told_at = time.monotonic()
    assert tokens_of(short)[1] == "whole"
    # Who comes now is taken, and gets nothing.
    late = asked(server, 5)
    assert (late.status, tokens_of(late)) == (200, (0, "whole"))
    assert servers.answers(server.base_url)
    while servers.is_open(server):
        assert time.monotonic() - told_at < TIME_S + 10
        time.sleep(0.1)
    assert time.monotonic() - told_at > TIME_S - 1
    count, ending = tokens_of(long)
    assert ending == "silent"
    assert 0 < count < 900
    # Its port is closed, and its process stays for as long as anybody waits: then its guard ends it.
    assert server.is_alive
    assert server.process.wait(timeout=2 * WITHIN_S) is not None
