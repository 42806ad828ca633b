"""What people type: every command, every mistake that has an answer, and any garbage."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labs.console import MAX_LINE_CHARACTERS, VERBS, Command, Filter, Refusal, parse

GARBAGE = settings(max_examples=300, deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("curl -s localhost:8000/metrics", Command("metrics")),
        ("curl http://127.0.0.1:8000/metrics", Command("metrics")),
        ("$ curl -s localhost:8000/health", Command("metrics", "/health")),
        ("curl -s localhost:9400/metrics", Command("dcgm")),
        ("dcgmi dmon", Command("dcgm")),
        (
            "curl -s 'localhost:9090/api/v1/query?query=rate(vllm:num_preemptions_total[5m])'",
            Command("promql", "rate(vllm:num_preemptions_total[5m])"),
        ),
        ("curl localhost:9090/api/v1/query?query=a+b&time=1", Command("promql", "a+b")),
        ("promql 'slo:ttft_p95'", Command("promql", "slo:ttft_p95")),
        ("nvidia-smi", Command("nvidia-smi")),
        ("nvidia-smi dmon -c 1", Command("nvidia-smi", "dmon -c 1")),
        (
            "nvidia-smi --query-gpu=index,utilization.gpu --format=csv",
            Command("nvidia-smi", "--query-gpu=index,utilization.gpu --format=csv"),
        ),
        (
            "tail -n 3 /var/log/vllm/engine.log",
            Command("engine-log", filters=(Filter("tail", lines=3),)),
        ),
        (
            "grep -i waiting /var/log/vllm/engine.log | tail -1",
            Command(
                "engine-log",
                filters=(Filter("grep", "waiting", ignore_case=True), Filter("tail", lines=1)),
            ),
        ),
        (
            "request-log --waiting",
            Command("request-log", options={"view": "waiting", "last": "5m"}),
        ),
        (
            "request-log --last 720s --summary",
            Command("request-log", options={"view": "summary", "last": "12m"}),
        ),
        ("steps", Command("steps")),
        ("steps --last 1m", Command("steps")),
        ("kv-ledger | head -2", Command("kv-ledger", filters=(Filter("head", lines=2),))),
        ("flags", Command("flags")),
        ("wait 5m", Command("wait", options={"seconds": "300"})),
        ("wait 90", Command("wait", options={"seconds": "90"})),
        ("verify", Command("verify")),
        ("restart", Command("restart")),
        (
            "restart --max-num-seqs=28 --no-enable-chunked-prefill",
            Command("restart", options={"--max-num-seqs": "28", "--no-enable-chunked-prefill": ""}),
        ),
        ("restart --watermark .05", Command("restart", options={"--watermark": ".05"})),
        ("shed 20%", Command("shed", options={"percent": "20"})),
        ("limit-max-tokens 1200", Command("limit-max-tokens", options={"tokens": "1200"})),
        ("add-replica", Command("add-replica")),
        ("restart-router", Command("restart-router")),
        ("undo 3", Command("undo", options={"number": "3"})),
        ("help wait", Command("help", "wait")),
    ],
)
def test_a_line_is_understood(line, command):
    assert parse(line) == command


def test_every_command_on_the_labs_page_is_understood(spec):
    lines = [each.command for each in (*spec.instruments.values(), *spec.changes.values())]
    commands = [parse(line) for line in lines]
    assert [c for c in commands if isinstance(c, Refusal)] == []
    assert {c.verb for c in commands} <= set(VERBS)


@pytest.mark.parametrize(
    ("line", "helps"),
    [
        ("", "help"),
        ("   $  ", "no `$`"),
        ("x" * 401, "401 characters"),
        ("wait\t5m\x00", "control characters"),
        ("wait \ud800", "control characters"),
        ("curl 'localhost", "quote ' in that line is never closed"),
        ('grep "a b', 'quote " in that line is never closed'),
        ("curl -s localhost:8000/metrics |", "both sides"),
        ("| grep x", "both sides"),
        ("flags && verify", "no shell"),
        ("flags; verify", "`;`"),
        ("echo $(reboot)", "no shell"),
        ("flags || verify", "`||`"),
        ("curl -s localhost:8000/metrics > out", "`>`"),
        ("curl localhost:8001/metrics", "nothing answers there"),
        ("curl localhost:8000/metric", "nothing answers there"),
        ("curl localhost:99999/metrics", "is no address"),
        ("curl example.org/metrics", "localhost answers"),
        ("curl -X POST localhost:8000/metrics", "take out `-X`"),
        ("curl", "one address"),
        ("curl localhost:9090/api/v1/query", "one `query=`"),
        ("promql", "expression"),
        ("nvidia-smi topo -p", "topo -m"),
        ("nvidia-smi -q", "dmon"),
        ("dcgmi diag", "dcgmi dmon"),
        ("request-log --last 7m", "5m or 12m"),
        ("request-log --last", "5m or 12m"),
        ("request-log --sumary", "`--summary`"),
        ("steps --last 5m", "one minute"),
        ("kv-ledger --all", "--replica"),
        ("wait", "how long"),
        ("wait 31m", "up to 30 minutes"),
        ("wait 0", "how long"),
        ("wait ٥m", "how long"),
        ("verify now", "no argument"),
        ("restart --max-num-seq 28", "`--max-num-seqs`"),
        ("restart --max-num-seqs many", "from 1 to 1024, not `many`"),
        ("restart --max-num-seqs 0", "from 1 to 1024"),
        ("restart --max-num-seqs", "from 1 to 1024, not ``"),
        ("restart --watermark 0.9", "0 to 0.5"),
        ("restart --watermark .٥", "0 to 0.5"),
        ("restart --kv-cache-dtype int4", "auto or fp8"),
        ("restart --enable-chunked-prefill --no-enable-chunked-prefill", "contradict"),
        ("restart | grep x", "nothing to filter"),
        ("shed", "shed 20%"),
        ("shed 0%", "shed 20%"),
        ("shed 101%", "shed 20%"),
        ("limit-max-tokens 0", "1 to 16384"),
        ("add-replica 2", "no argument"),
        ("undo", "undo 7"),
        ("undo all", "undo 7"),
        ("cat /etc/passwd", "engine.log"),
        ("cat -n /var/log/vllm/engine.log", "nothing else"),
        ("grep waiting", "behind a pipe"),
        ("flags | grep x", "no argument"),
        ("steps | sort", "no `sort`"),
        ("steps | python", "not to `python`"),
        ("steps | grep", "one pattern"),
        ("steps | grep -c x", "-E, -i and -v"),
        ("steps | grep --color x", "-E, -i and -v"),
        ("steps | head -n two", "head -n 20"),
        ("kubectl get pods", "no kubectl"),
        ("rm -rf /", "Nothing can be deleted"),
        ("nvidia-sim", "`nvidia-smi`"),
        ("frobnicate", "It has"),
        ("''", "It has"),
    ],
)
def test_a_line_that_is_not_understood_is_told_what_would_be(line, helps):
    answer = parse(line)
    assert isinstance(answer, Refusal)
    assert helps in answer.message


def test_a_pipe_inside_quotes_is_a_pattern_and_no_pipe():
    assert parse("steps | grep '|'") == Command("steps", filters=(Filter("grep", "|"),))


def test_quotes_and_backslashes_are_read_as_a_shell_reads_them():
    (found,) = parse(r"""steps | grep a\ b'c "d'"e \"f" """).filters
    assert found.pattern == """a bc "de "f"""


def test_spaces_pasted_from_a_page_are_spaces():
    assert parse("wait\u00a05m") == Command("wait", options={"seconds": "300"})


@GARBAGE
@given(st.text(max_size=MAX_LINE_CHARACTERS + 20))
@example("restart " + "--max-num-seqs=" * 20)
@example("curl http://[::1")
@example("curl 'localhost:9090/api/v1/query?query=%ff%fe'")
def test_no_text_whatever_raises(line):
    answer = parse(line)
    assert isinstance(answer, Command) or answer.message


PIECES = st.sampled_from(
    [
        *VERBS,
        *("curl", "grep", "tail", "-n", "-s", "--last", "5m", "12m", "|", "'", '"', "\\", "%", "="),
        *("localhost:8000/metrics", "localhost:9090/api/v1/query?query=", "[", "(", "*", "$(", "&"),
        *("--max-num-seqs", "--watermark", "0.05", "-1", "1e9", "٣", "𝟘", "\u2028", "ß", "NaN"),
    ]
)


@GARBAGE
@given(st.lists(PIECES, max_size=12), st.sampled_from([" ", ""]))
def test_no_mixture_of_known_pieces_raises(pieces, space):
    answer = parse(space.join(pieces))
    assert isinstance(answer, Command) or answer.message
