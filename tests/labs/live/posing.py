"""Programs that pose as ``vllm`` and ``nvidia-smi`` on a box of GPUs: they note what they are told, and answer the least that is needed."""

import json
import os
import sys

from labs.live.scraping import NEEDED

ENGINE = r"""#!{python}
import json, os, pathlib, signal, socket, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

here, words = pathlib.Path({here!r}), sys.argv[1:]
kept = ("CUDA_", "NCCL_", "VLLM_", "COURSEWARE_LEASE")
with (here / "starts").open("a") as file:
    file.write(json.dumps([words, {{k: v for k, v in os.environ.items() if k.startswith(kept)}}]) + "\n")
said = json.loads((here / "engine.json").read_text())
for line in said.get("log", []):
    print(line, flush=True)
if said.get("dies"):
    sys.exit(1)
words_of = dict(zip(words, words[1:]))
page = "\n".join(f"# TYPE {{name}} {{kind}}\n{{line}}" for name, kind, line in said["families"])


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        text = {{
            "/health": "",
            "/version": json.dumps({{"version": said.get("version", "0.32.0")}}),
            "/v1/models": json.dumps({{"data": [{{"id": said.get("model", "m"), "max_model_len": said.get("longest")}}]}}),
            "/metrics": page + "\n",
        }}.get(self.path)
        self.answer(200 if text is not None else 404, text or "")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with (here / "asked").open("a") as file:
            file.write(json.dumps([words_of.get("--port", ""), len(body["prompt"]), body.get("priority")]) + "\n")
        event = json.dumps({{"choices": [{{"text": "a"}}], "usage": None}})
        self.answer(200, f"data: {{event}}\n\ndata: [DONE]\n\n")

    def answer(self, status, text):
        data = text.encode()
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            pass


class Server(ThreadingHTTPServer):
    daemon_threads, allow_reuse_address, request_queue_size = True, True, 256

    def server_bind(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address


signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
server = Server(("127.0.0.1", int(words_of.get("--port", "0"))), Handler)
(here / "port").write_text(str(server.server_port))
print("Application startup complete.", flush=True)
server.serve_forever()
"""

SMI = r"""#!{python}
import pathlib, sys
here, words = pathlib.Path({here!r}), sys.argv[1:]
with (here / "smi").open("a") as file:
    file.write(" ".join(words) + "\n")
limit = here / f"limit-{{words[words.index('-i') + 1]}}" if "-i" in words else None
if "-pl" in words:
    if (here / "refuses").exists():
        print("Failed to set power management limit for GPU 00000000:17:00.0: Insufficient Permissions")
        sys.exit(4)
    limit.write_text(words[-1])
elif limit and any(word.startswith("--query-gpu=power.limit") for word in words):
    print(f"{{float(limit.read_text()) if limit.exists() else 400.0:.2f}}, 200.00")
elif words[:2] == ["topo", "-m"]:
    print("\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV12\tSYS\tSYS\t0-31\t0")
else:
    print((here / "smi.txt").read_text() if (here / "smi.txt").exists() else "")
"""


def families():
    """The page's families, each with its type and one line."""
    found = []
    for name in NEEDED:
        is_histogram = name.endswith(("_seconds", "iteration_tokens_total"))
        is_gauge = name.endswith(("running", "waiting", "perc"))
        if is_histogram:
            found.append([name, "histogram", f'{name}_bucket{{le="+Inf"}} 0'])
        elif is_gauge:
            found.append([name, "gauge", f"{name} 0"])
        else:
            found.append([name, "counter", f"{name}_total 0"])
    return found


def program(here, name, text):
    """A program of that name in a folder, which is Python."""
    path = here / name
    path.write_text(text.format(python=sys.executable, here=str(here)), encoding="utf-8")
    path.chmod(0o755)
    return path


def says(here, **fields):
    """Let the engine say so from its next start on."""
    told = {"families": families(), "model": "llama-70b-nvl", **fields}
    (here / "engine.json").write_text(json.dumps(told), encoding="utf-8")


def pose(here, monkeypatch):
    """Put both programs first on PATH, and a folder that passes for the weights; return the folder."""
    program(here, "vllm", ENGINE)
    program(here, "nvidia-smi", SMI)
    says(here)
    weights = here / "weights"
    weights.mkdir()
    (weights / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.setenv("PATH", f"{here}:{os.environ['PATH']}")
    monkeypatch.setenv("LIVE_MODEL", str(weights))
    return here


def starts(here):
    """(words, environment) of each start of an engine so far."""
    return [tuple(json.loads(line)) for line in _lines(here / "starts")]


def asked(here):
    """(port, prompt tokens, priority) of each request so far."""
    return [tuple(json.loads(line)) for line in _lines(here / "asked")]


def smi(here):
    """What nvidia-smi was told so far, but for the reading at the beginning."""
    return [line for line in _lines(here / "smi") if not line.startswith(("topo", "nvlink"))]


def _lines(path):
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
