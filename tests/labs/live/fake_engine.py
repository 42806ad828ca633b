"""A program that poses as ``vllm serve``: its page of metrics, its streams, its log, and the ways in which it fails.

The standard library alone; started like the real one (``labs.live.launching``). How it behaves says the JSON file that
``FAKE_ENGINE`` names, read again at every turn, so that a test changes it while the engine runs:

- ``ready_after_s``, ``never_ready``; ``dies``: what it prints before it ends at its start; ``refuses``: a flag that it ends at
- it ends at its start, with vLLM's sentence, if its pool does not hold one request of ``--max-model-len``
- ``pace_s`` of a step; ``dies_after``: so many requests
- ``metrics``: "hangs", or a text; ``lacks``: families that its page is without; ``families`` are those of the page
- ``streams``: "hang" (no token comes), "break" (after three tokens), "garble" (what comes is no JSON)
- ``leaves``: told to stop it does as vLLM 0.32: within ``--shutdown-timeout`` what runs ends, newcomers are answered 200 and no
  token; then its port is closed, and who still streams hears nothing. Else it ends at once
"""

import json
import os
import select
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LOCK = threading.Condition()


def option(name, default=None):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def mode(name, default=None):
    return json.loads(Path(os.environ["FAKE_ENGINE"]).read_text()).get(name, default)


def pool_tokens():
    """Of 512 bytes each."""
    return int(option("--kv-cache-memory-bytes", "524288")) // 512


def log(text):
    try:
        print(f"(APIServer pid={os.getpid()}) INFO 11-30 13:53:49 [fake.py:1] {text}", flush=True)
    except OSError:
        """As Python's logging: a full disk ends no server."""


class Call:
    """A request, from its arrival to its last token."""

    def __init__(self, body):
        self.prompt, self.limit = len(body["prompt"]), body["max_tokens"]
        room = int(option("--max-model-len", "1024")) - self.prompt
        self.limit = min(self.limit, room)
        self.came_at = self.last_at = time.monotonic()
        self.outputs = 0
        self.is_prefilled = self.is_gone = False


class Engine:
    """Each step gives every running request a token. No pool: nobody is preempted."""

    def __init__(self):
        self.waiting, self.running = [], []
        self.leaves = self.is_gone = False
        self.open = 0
        self.steps = self.served = 0
        self.counts = dict.fromkeys(
            ["prompt_tokens", "generation_tokens", "length", "abort", "num_preemptions"], 0
        )
        self.seen = {
            "time_to_first_token_seconds": [],
            "inter_token_latency_seconds": [],
            "iteration_tokens_total": [],
        }

    def run(self):
        while True:
            pace_s = mode("pace_s", 0.002)
            with LOCK:
                while not self.waiting and not self.running:
                    LOCK.wait()
            began = time.monotonic()
            time.sleep(pace_s)
            with LOCK:
                self.step((time.monotonic() - began) * 1000)
                LOCK.notify_all()

    def step(self, elapsed_ms):
        for each in [*self.running, *self.waiting]:
            if each.is_gone:
                (self.running if each in self.running else self.waiting).remove(each)
                self.counts["abort"] += 1
        most = int(option("--max-num-seqs", "256"))
        while self.waiting and len(self.running) < most:
            self.running.append(self.waiting.pop(0))
        new = [each for each in self.running if not each.is_prefilled]
        old = [each for each in self.running if each.is_prefilled]
        prefill, now = sum(each.prompt for each in new), time.monotonic()
        if not self.running or mode("streams") == "hang" or self.is_gone:
            return
        log(
            f"Engine 000: Iteration({self.steps}): {len(new)} context requests, {prefill} context tokens, "
            f"{len(old)} generation requests, {len(old)} generation tokens, "
            f"iteration elapsed time: {elapsed_ms:.2f} ms, CPU KV cache usage: {self.usage() * 100:.1f}%"
        )
        self.steps += 1
        self.seen["iteration_tokens_total"].append(prefill + len(old))
        for each in self.running:
            family = (
                "inter_token_latency_seconds" if each.outputs else "time_to_first_token_seconds"
            )
            self.seen[family].append(now - (each.last_at if each.outputs else each.came_at))
            each.outputs, each.last_at, each.is_prefilled = each.outputs + 1, now, True
            self.counts["generation_tokens"] += 1
        self.counts["prompt_tokens"] += prefill
        for each in [each for each in self.running if each.outputs >= each.limit]:
            self.running.remove(each)
            self.counts["length"] += 1

    def usage(self):
        used = sum(each.prompt + each.outputs for each in self.running)
        return min(1.0, used / pool_tokens())

    def page(self):
        lines = []
        for name, kind, bounds in mode("families"):
            if name.removesuffix("_total") in mode("lacks", []):
                continue
            lines += [f"# HELP {name} of a fake engine.", f"# TYPE {name} {kind}"]
            short, labels = name.removeprefix("vllm:"), 'engine="0",model_name="fake"'
            if kind == "histogram":
                seen = self.seen.get(short, [])
                for bound in [*bounds, float("inf")]:
                    upto = sum(each <= bound for each in seen)
                    shown = "+Inf" if bound == float("inf") else f"{bound:g}"
                    lines.append(f'{name}_bucket{{{labels},le="{shown}"}} {upto}')
                lines += [
                    f"{name}_count{{{labels}}} {len(seen)}",
                    f"{name}_sum{{{labels}}} {sum(seen)}",
                ]
            elif short == "request_success_total":
                for reason in ("length", "abort"):
                    lines.append(
                        f'{name}{{{labels},finished_reason="{reason}"}} {self.counts[reason]}'
                    )
            else:
                value = {
                    "num_requests_running": len(self.running),
                    "num_requests_waiting": len(self.waiting),
                    "kv_cache_usage_perc": self.usage(),
                }.get(short, self.counts.get(short.removesuffix("_total"), 0))
                lines.append(f"{name}{{{labels}}} {value}")
        return "\n".join(lines) + "\n"


ENGINE = Engine()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Not every access."""

    def do_GET(self):
        if self.path == "/health":
            self.answer(200, "")
        elif self.path == "/version":
            self.answer(200, '{"version":"0.32.0"}')
        elif self.path == "/metrics":
            how = mode("metrics")
            while how == "hangs":
                time.sleep(0.02)
                how = mode("metrics")
            with LOCK:
                self.answer(200, how or ENGINE.page())
        else:
            self.answer(404, '{"detail":"Not Found"}')

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        most, streams = option("--max-num-queued-reqs"), mode("streams")
        with LOCK:
            ENGINE.served += 1
            if ENGINE.served > mode("dies_after", 10**9):
                print("torch.OutOfMemoryError: a fake engine is out of memory", flush=True)
                os._exit(1)
            if most is not None and len(ENGINE.waiting) >= int(most):
                self.answer(503, '{"error":{"message":"The engine is currently busy.","code":503}}')
                return
            call = Call(body)
            ENGINE.open += 1
            if ENGINE.leaves:
                call.limit = 0
            else:
                ENGINE.waiting.append(call)
            LOCK.notify_all()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        try:
            self.follow(call, streams)
        except OSError:
            call.is_gone = True
        ENGINE.open -= 1
        self.close_connection = True

    def follow(self, call, streams):
        told = 0
        while told < call.limit:
            with LOCK:
                if call.outputs <= told:
                    LOCK.wait(0.05)
                outputs = call.outputs
            gone, _, _ = select.select([self.connection], [], [], 0)
            if gone:
                raise ConnectionResetError
            for number in range(told + 1, outputs + 1):
                reason = "length" if number == call.limit else None
                self.event([{"index": 0, "text": " a", "finish_reason": reason}], None)
                if streams in {"break", "garble"} and number == 3:
                    if streams == "garble":
                        self.chunk('{"choices":[')
                    raise ConnectionResetError
            told = outputs
        if told:
            self.event([], {"prompt_tokens": call.prompt, "completion_tokens": told})
        self.chunk("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def event(self, choices, usage):
        self.chunk(json.dumps({"choices": choices, "usage": usage}))

    def chunk(self, text):
        data = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def answer(self, status, text):
        data = text.encode()
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            """Whoever asked is gone."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def server_bind(self):
        """Without asking who this machine is, which takes seconds on some."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address

    def handle_error(self, request, address):
        """A client that is gone is no error."""


def leave(server):
    """Wait for what runs, close the port, and stay for those who still stream."""
    ENGINE.leaves = True
    end_at = time.monotonic() + float(option("--shutdown-timeout", "0"))
    while time.monotonic() < end_at and (ENGINE.waiting or ENGINE.running):
        time.sleep(0.01)
    ENGINE.is_gone = True
    server.shutdown()
    server.server_close()
    while ENGINE.open:
        time.sleep(0.01)
    os._exit(0)


def told_to_stop(server):
    if not mode("leaves"):
        os._exit(0)
    threading.Thread(target=leave, args=(server,), daemon=True).start()


def main():
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    log(
        f"Initializing a V1 LLM engine (v0.32.0) with config: fake, max_seq_len={option('--max-model-len')}, x"
    )
    if mode("refuses", "--nothing") in sys.argv:
        print(f"vllm: error: argument {mode('refuses')}: invalid value", flush=True)
        raise SystemExit(2)
    longest, pool = int(option("--max-model-len", "1024")), pool_tokens()
    if longest > pool:
        print(
            f"(EngineCore pid={os.getpid()}) ERROR 11-30 13:53:49 [core.py:1510] ValueError: To serve at least one request "
            f"with the model's max seq len ({longest}), (0.0 GiB KV cache is needed, which is larger than the available KV "
            f"cache memory (0.0 GiB). Based on the available memory, the estimated maximum model length is {pool}.\n"
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}",
            flush=True,
        )
        raise SystemExit(1)
    if mode("dies"):
        print(mode("dies"), flush=True)
        raise SystemExit(1)
    while mode("never_ready"):
        time.sleep(0.02)
    time.sleep(mode("ready_after_s", 0))
    server = Server((option("--host"), int(option("--port"))), Handler)
    log("CPU KV cache size: 1,024 tokens, Maximum concurrency for 1,024 tokens per request: 1.00x")
    threading.Thread(target=ENGINE.run, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: told_to_stop(server))
    server.serve_forever()
    while True:
        time.sleep(1)


if __name__ == "__main__":
    main()
