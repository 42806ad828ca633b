"""The memory budget of one rank, line by line, for a model, a card and flags that the reader turns.

Source: ``lessons.exact.ledger``, which is the ledger that the labs run on; where nothing is left, the start of the
labs' engine says so in the words that vLLM or torch would write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs.simulator.memory.ledger import GIB, MemoryFlags
from lessons.demos.demo import Choice, Demo, Number, Readout, Shown
from lessons.demos.numbers import number, plain
from lessons.demos.plots import rounded
from lessons.exact.ledger import DEVICES, MODELS, budget
from lessons.figures import Plot, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons.exact.ledger import Budget, Precision

_MODELS = {"llama-70b": "Llama 70B", "llama-8b": "Llama 8B", "atlas-70b": "Atlas"}
_CARDS = {
    "h100": ("NVIDIA H100 80GB HBM3", "H100 SXM"),
    "nvl": ("NVIDIA H100 NVL", "H100 NVL"),
    "h200": ("NVIDIA H200", "H200 SXM"),
}
_WEIGHTS = {"bf16": "BF16", "fp8": "FP8", "int4": "INT4"}
_LINES = {
    "weights": "weights",
    "activations": "trial step",
    "workspace": "workspace",
    "graphs": "graphs",
    "context": "context",
    "nccl": "NCCL",
    "pool": "KV pool",
}
_LONGEST_QUOTE = 190


@dataclass(frozen=True)
class _Piece:
    """A stretch of the card's memory, GiB from its beginning."""

    name: str
    start: float
    length: float
    words: str
    colour: str
    settled: str


def computed(
    *,
    model: str,
    gpu: str,
    ranks: str,
    weights: Precision,
    kv: str,
    graphs: str,
    gpu_memory_utilization: float,
    max_num_batched_tokens: int,
    max_num_seqs: int,
    max_model_len: int,
    sequence_tokens: int,
) -> Shown:
    """Return one rank's ledger, what it holds, and whether the engine starts."""
    device, card = _CARDS[gpu]
    flags = MemoryFlags(
        tensor_parallel_size=int(ranks),
        gpu_memory_utilization=gpu_memory_utilization,
        max_num_batched_tokens=max_num_batched_tokens,
        max_num_seqs=max_num_seqs,
        max_model_len=max_model_len,
        kv_cache_dtype="fp8" if kv == "fp8" else "auto",
        enforce_eager=graphs == "off",
    )
    found = budget(MODELS[model], flags, DEVICES[device], precision=weights)
    pieces = _pieces(found)
    what = f"{_MODELS[model]} with weights in {_WEIGHTS[weights]} on {ranks} × {card}"
    fits = found.sequences_of(sequence_tokens)
    pool = found.sums.available_kv / GIB
    starts = found.refusal is None and max_num_batched_tokens >= max_num_seqs
    return Shown(
        says=_says(found, what, sequence_tokens=sequence_tokens),
        readouts=(
            Readout("KV pool", _gib(pool), "GiB", f"{found.kv_bytes_per_token / 1024:g} KiB a token and rank", "truth"),
            Readout(
                "Live tokens", f"{found.kv_tokens:,}" if starts else "0", "",
                f"{number(found.kv_tokens / max_model_len, 1)} of the longest requests" if starts else "it does not start",
            ),
            Readout("Sequences", f"{fits:,}" if starts else "0", "at once", f"of {plain(sequence_tokens)} tokens each"),
        ),
        plots=(_plot(found, pieces, what),),
        table=Table(
            "One rank's memory, in the order in which it is spent",
            ("Line", "GiB", "Of the card", "Settled by"),
            [
                (
                    piece.name,
                    piece.words.partition(" ")[0],
                    f"{100 * piece.length * GIB / found.sums.device.usable_bytes:.1f} %",
                    piece.settled,
                )
                for piece in pieces
            ],
        ),
        method=(
            "The ledger that the labs run on. Workspace, graphs, context and NCCL are scenario constants; all else follows "
            "from the model's shape and the flags. Atlas is fictional: its card states 320 KiB a token on every rank."
        ),
    )  # fmt: skip


def _gib(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _pieces(found: Budget) -> tuple[_Piece, ...]:
    """Return the ledger's lines one after another, and what lies outside the budget."""
    pieces: list[_Piece] = []
    spent = 0.0
    for line in found.lines:
        settled = "model and flags" if line.counted else "scenario constant"
        if line.name == "pool":
            if line.gib >= 0:
                pieces.append(
                    _Piece("KV pool", spent, line.gib, _gib(line.gib), "c1", "what is left")
                )
            else:
                # What was spent beyond the limit, drawn from the limit on.
                words = f"{_gib(-line.gib)} missing"
                pieces.append(
                    _Piece("missing", spent + line.gib, -line.gib, words, "bad", "what is left")
                )
            continue
        pieces.append(_Piece(_LINES[line.name], spent, line.gib, _gib(line.gib), "c0", settled))
        spent += line.gib
    allowed = found.requested / GIB
    outside = found.sums.device.usable_bytes / GIB - allowed
    pieces.append(
        _Piece("outside", allowed, outside, _gib(outside), "edge", "gpu_memory_utilization")
    )
    return tuple(pieces)


def _says(found: Budget, what: str, *, sequence_tokens: int) -> str:
    flags = found.flags
    if flags.max_num_batched_tokens < flags.max_num_seqs:
        return (
            f"It does not start: vLLM refuses {plain(flags.max_num_batched_tokens)} tokens in a step for "
            f"{plain(flags.max_num_seqs)} sequences before it looks at memory."
        )
    if found.refusal is not None:
        return (
            f"It does not start: {what} stops in the phase “{found.refusal.phase}” on rank {found.refusal.rank}. "
            f"It says: “{_quoted(found.refusal.message)}”."
        )
    fits = found.sequences_of(sequence_tokens)
    many = "sequence" if fits == 1 else "sequences"
    return (
        f"{what} leaves {_gib(found.lines[-1].gib)} GiB on each rank for the pool: {found.kv_tokens:,} tokens, "
        f"room for {fits:,} {many} of {plain(sequence_tokens)}."
    )


def _quoted(message: str) -> str:
    """Return the first sentences of a message, as many as can be read out."""
    told = ""
    for sentence in message.split(". "):
        if told and len(told) + len(sentence) > _LONGEST_QUOTE:
            break
        told = f"{told}. {sentence}" if told else sentence
    return told.rstrip(".")


def _plot(found: Budget, pieces: Sequence[_Piece], what: str) -> Plot:
    """Return the lines as a staircase: each bar begins where the one above it ended."""
    upward = list(reversed(pieces))
    card = found.sums.device.usable_bytes / GIB
    end = max([card, *(piece.start + piece.length for piece in pieces)])
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "y": [f"{piece.name} {piece.words.partition(' ')[0]}" for piece in upward],
            "x": [rounded(piece.length) for piece in upward],
            "base": [rounded(piece.start) for piece in upward],
            "marker": {"color": [f"--{piece.colour}" for piece in upward]},
            "width": 0.62,
            "hovertemplate": "%{y} GiB<extra></extra>",
        }
    ]
    rules = [_rule(found.requested / GIB, "accent"), _rule(card, "ink")]
    layout: dict[str, Any] = {
        "hovermode": "closest",
        # Each bar is named with its length: beside a bar the number would lie on the two lines.
        "margin": {"l": 116, "r": 12, "t": 4, "b": 38},
        "xaxis": {
            "range": [0, rounded(end * 1.04)],
            "title": {"text": "GiB"},
            "nticks": 6,
        },
        "yaxis": {"showline": False, "ticks": "", "showgrid": False, "ticklabelstandoff": 6},
        "shapes": rules,
    }
    told = ", ".join(f"{piece.name} {piece.words}" for piece in pieces)
    return Plot(
        "The rank's memory", "GiB; the two lines are the limit and the end of the card", f"{what}, GiB in the order in which they are spent: {told}.",
        {"data": data, "layout": layout}, "big",
    )  # fmt: skip


def _rule(at: float, colour: str) -> dict[str, Any]:
    line = {"color": f"--{colour}", "width": 1.5}
    return {"type": "line", "x0": rounded(at), "x1": rounded(at), "yref": "paper", "y0": 0, "y1": 1, "line": line}  # fmt: skip


DEMO = Demo(
    id="memory-ledger",
    title="One rank's ledger, for your model and flags",
    controls=(
        Choice("model", "Model", tuple(_MODELS.items()), "llama-70b"),
        Choice("gpu", "Card", tuple((key, card) for key, (_, card) in _CARDS.items()), "h100"),
        Choice("ranks", "Ranks", tuple((each, each) for each in ("1", "2", "4", "8")), "4", "--tensor-parallel-size"),
        Choice("weights", "Weights", tuple(_WEIGHTS.items()), "bf16", "--quantization"),
        Choice("kv", "KV", (("auto", "BF16"), ("fp8", "FP8")), "auto", "--kv-cache-dtype"),
        Choice("graphs", "CUDA graphs", (("on", "captured"), ("off", "off, --enforce-eager")), "on"),
        Number("gpu_memory_utilization", "Limit", "share of the card", 0.5, 0.99, 0.01, 0.92),
        Number("max_num_batched_tokens", "Tokens in a step", "at most", 512, 32_768, 512, 8_192),
        Number("max_num_seqs", "Sequences at once", "at most", 8, 2_048, 8, 1_024),
        Number("max_model_len", "Context", "tokens at most", 1_024, 131_072, 1_024, 8_192),
        Number("sequence_tokens", "A sequence of yours", "tokens", 100, 131_072, 100, 2_800),
    ),
    compute=computed,
)  # fmt: skip
