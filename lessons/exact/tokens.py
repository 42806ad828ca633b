"""A small byte-pair encoder, and what a prefix cache keeps when two prompts part.

The vocabulary is learnt once, from a text of ours, in the same order everywhere: bytes first, then the pairs that
were most frequent, then the special tokens of the chat templates. It is a toy next to a real one, and exact: ids are what
an engine would hash, and the hits are those of the simulator's own pool of blocks.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from labs.simulator.kv_cache import BlockPool, blocks_for
from labs.simulator.request import Request
from lessons.exact.learnt_from import TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

BYTES = 256
MERGES = 320
"""Pairs that become tokens. Scenario constant: about four letters a token on texts like ours."""
SPECIAL = (
    "<|begin|>", "<|start|>", "<|end|>", "<|im_start|>", "<|im_end|>", "[INST]", "[/INST]",
)  # fmt: skip
"""One token each, whatever stands beside them."""
BLOCK_SIZE = 16
_PIECES = re.compile(r" ?[^\W\d]+|\d| ?[^\s\w]+|\s+")
"""Words with the blank before them, single digits, signs, white space: nothing is merged across."""

type Pair = tuple[int, int]


@dataclass(frozen=True)
class Encoder:
    """A vocabulary: what each merge joins, in the order in which they were learnt."""

    ranks: dict[Pair, int]
    """Pair of ids -> its place among the merges; its own id is ``BYTES`` more."""
    spelled: tuple[bytes, ...]
    """Bytes of each id, special tokens last."""

    @property
    def size(self) -> int:
        """Tokens of the vocabulary."""
        return len(self.spelled)

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the ids of ``text``, special tokens by their names. 12,000 letters take 0.01 s."""
        known: dict[str, tuple[int, ...]] = {}
        ids: list[int] = []
        for part in _SPECIALS.split(text):
            if part in SPECIAL:
                ids.append(BYTES + len(self.ranks) + SPECIAL.index(part))
                continue
            for piece in _PIECES.findall(part):
                if piece not in known:
                    known[piece] = self._piece(piece.encode())
                ids += known[piece]
        return tuple(ids)

    def _piece(self, spelled: bytes) -> tuple[int, ...]:
        ids = list(spelled)
        while len(ids) > 1:
            rank, place = min(
                (self.ranks.get(pair, MERGES), at) for at, pair in enumerate(pairwise(ids))
            )
            if rank == MERGES:
                break
            ids[place : place + 2] = [BYTES + rank]
        return tuple(ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ``ids``; what is no UTF-8, as half a letter is not, becomes the replacement sign."""
        return b"".join(self.spelled[token] for token in ids).decode(errors="replace")

    def shown(self, token: int) -> str:
        """Return one token as a page may show it."""
        return self.decode((token,))


_SPECIALS = re.compile("(" + "|".join(map(re.escape, SPECIAL)) + ")")


@cache
def encoder() -> Encoder:
    """Return the encoder learnt from ``learnt_from.TEXT``; the first call takes 0.02 s."""
    words = [(list(piece.encode()), n) for piece, n in Counter(_PIECES.findall(TEXT)).items()]
    counts: Counter[Pair] = Counter()
    held: dict[Pair, set[int]] = {}
    for index, (ids, n) in enumerate(words):
        for pair in pairwise(ids):
            counts[pair] += n
            held.setdefault(pair, set()).add(index)
    ranks: dict[Pair, int] = {}
    spelled = [bytes([byte]) for byte in range(BYTES)]
    for rank in range(MERGES):
        # The most frequent; of several the one with the lowest ids, so that the order never depends on a hash.
        pair = min(counts, key=lambda one: (-counts[one], one))
        ranks[pair] = rank
        spelled.append(spelled[pair[0]] + spelled[pair[1]])
        for index in held.pop(pair):
            ids, n = words[index]
            for gone in pairwise(ids):
                counts[gone] -= n
            _merge(ids, pair, BYTES + rank)
            for new in pairwise(ids):
                counts[new] += n
                held.setdefault(new, set()).add(index)
        del counts[pair]
    return Encoder(ranks, (*spelled, *(name.encode() for name in SPECIAL)))


def _merge(ids: list[int], pair: Pair, token: int) -> None:
    place = 0
    while place < len(ids) - 1:
        if (ids[place], ids[place + 1]) == pair:
            ids[place : place + 2] = [token]
        place += 1


# ----------------------------------------------------------------------- two prompts compared


def first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    """Return the first place at which two prompts differ, the shorter one's end if it begins the other; None if equal."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return None if len(one) == len(other) else min(len(one), len(other))


@dataclass(frozen=True)
class Hit:
    """What a prefix cache saves of one prompt, in tokens."""

    prompt_tokens: int
    cached_tokens: int
    """Whole blocks, and never the last token of a prompt: at least one is computed."""
    block_size: int

    @property
    def new_tokens(self) -> int:
        """Tokens to prefill."""
        return self.prompt_tokens - self.cached_tokens

    @property
    def blocks(self) -> int:
        """Blocks that were found."""
        return self.cached_tokens // self.block_size

    @property
    def rate(self) -> float:
        """Hits over queries, in tokens, as ``vllm:prefix_cache_hits_total`` over ``_queries_total`` has it."""
        return self.cached_tokens / self.prompt_tokens

    def prefill_ms(self, prefill_ms_per_token: float) -> float:
        """Return the prefill of what is new, milliseconds."""
        return self.new_tokens * prefill_ms_per_token

    def saved_ms(self, prefill_ms_per_token: float) -> float:
        """Return the prefill that was saved, milliseconds."""
        return self.cached_tokens * prefill_ms_per_token


def hit(before: Sequence[int], after: Sequence[int], *, block_size: int = BLOCK_SIZE) -> Hit:
    """Return what ``after`` finds of ``before`` in an engine's pool that holds only that.

    By chained hashes: a block is found if all tokens up to its end are the same, so a token that changes at place p
    leaves floor(p / block size) blocks. 3,300 tokens take 0.005 s. Raises ValueError for an empty prompt.
    """
    pool = BlockPool(1 + blocks_for(len(before), block_size), block_size)
    cached = _request("before", before)
    pool.allocate(cached, len(before))
    pool.free(cached)
    blocks, _ = pool.lookup(_request("after", after))
    return Hit(len(after), blocks * block_size, block_size)


def _request(name: str, ids: Sequence[int]) -> Request:
    return Request(name, 0.0, len(ids), 1, prompt_token_ids=tuple(ids), output_token_ids=[])


def equal_blocks(one: Sequence[int], other: Sequence[int], *, block_size: int = BLOCK_SIZE) -> int:
    """Return how many full blocks hold the same tokens at the same place, whatever stands before them.

    More than ``hit`` finds: keys and values depend on all that came before, so these blocks are of no use.
    """
    full = min(len(one), len(other)) // block_size
    return sum(
        tuple(one[at : at + block_size]) == tuple(other[at : at + block_size])
        for at in range(0, full * block_size, block_size)
    )


def prefill_load(rate_rps: float, prefill_ms: float) -> float:
    """Return the share of an engine's time that prefill takes at ``rate_rps``; at 1 and above it cannot keep up."""
    return rate_rps * prefill_ms / 1e3
