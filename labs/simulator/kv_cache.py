"""The KV pool: blocks of tokens, free or held; with prefix caching, also remembered.

Two pools with one interface. Without prefix caching only counts can be observed, so
``CountingPool`` keeps counts. ``BlockPool`` keeps block ids, hashes and the free queue in
vLLM's order (v1/core/block_pool.py).
"""

from collections import OrderedDict
from hashlib import blake2b

from labs.simulator.request import Request

type BlockHash = bytes
"""Hash of the parent's hash and the block's tokens: a chain, equal only if all before is equal."""


def blocks_for(num_tokens: int, block_size: int) -> int:
    """Return how many blocks hold ``num_tokens`` tokens."""
    return -(-num_tokens // block_size)


class CountingPool:
    """A pool of which only counts matter. ``num_gpu_blocks`` includes the null block."""

    __slots__ = ("block_size", "num_free", "num_leaked", "usable")

    def __init__(self, num_gpu_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.usable = num_gpu_blocks - 1
        self.num_free = self.usable
        self.num_leaked = 0

    def lookup(self, request: Request) -> tuple[int, int]:
        """Return (blocks of ``request`` that are cached, those of them that no request holds): none here."""
        del request
        return 0, 0

    def allocate(self, request: Request, num_tokens: int, *, hit_blocks: int = 0) -> None:
        """Give ``request`` the blocks that ``num_tokens`` tokens need beyond those it holds.

        The caller has checked that they are free. Raises RuntimeError if they are not.
        """
        del hit_blocks
        needed = blocks_for(num_tokens, self.block_size)
        new = needed - request.num_blocks
        if new <= 0:
            return
        if new > self.num_free:
            raise RuntimeError(f"{request.request_id}: {new} blocks wanted, {self.num_free} free")
        self.num_free -= new
        request.num_blocks = needed

    def free(self, request: Request) -> None:
        """Take back all blocks of ``request``."""
        self.num_free += request.num_blocks
        request.num_blocks = 0

    def leak(self, n_blocks: int) -> int:
        """Take up to ``n_blocks`` out of the free list for good; return how many there were to take."""
        taken = min(n_blocks, self.num_free)
        self.num_free -= taken
        self.num_leaked += taken
        return taken


class BlockPool:
    """A pool with prefix caching: full blocks are found again by the tokens up to their end.

    A block is registered when it is allocated, for tokens that the same step will compute. A
    free block keeps its hash until it is taken for something else. Equal blocks are not merged:
    a hash names a set of blocks, of which the oldest answers.
    """

    __slots__ = (
        "_block_hash", "_blocks_of", "_chains", "_free", "_hash_blocks", "_hashed",
        "_ref", "block_size", "num_leaked", "usable",
    )  # fmt: skip

    def __init__(self, num_gpu_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.usable = num_gpu_blocks - 1
        self.num_leaked = 0
        # Block 0 is the null block: it is never free.
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(1, num_gpu_blocks))
        self._ref = [0] * num_gpu_blocks
        self._block_hash: dict[int, BlockHash] = {}
        self._hash_blocks: dict[BlockHash, dict[int, None]] = {}
        self._blocks_of: dict[str, list[int]] = {}
        self._hashed: dict[str, int] = {}
        self._chains: dict[str, list[BlockHash]] = {}

    @property
    def num_free(self) -> int:
        """Blocks that no request holds, cached ones included."""
        return len(self._free)

    def lookup(self, request: Request) -> tuple[int, int]:
        """Return (blocks of ``request`` that are cached, those of them that no request holds).

        The search stops at the first miss and never covers the last token: at least one token
        must be computed to have an output.
        """
        hits = self._hits(request)
        return len(hits), sum(1 for block in hits if self._ref[block] == 0)

    def allocate(self, request: Request, num_tokens: int, *, hit_blocks: int = 0) -> None:
        """Give ``request`` its cached blocks and new ones, up to ``num_tokens`` tokens; register full ones.

        The caller has checked that they are free. Raises RuntimeError if they are not.
        """
        key = request.request_id
        held = self._blocks_of.setdefault(key, [])
        if hit_blocks:
            for block in self._hits(request)[:hit_blocks]:
                if self._ref[block] == 0:
                    del self._free[block]
                self._ref[block] += 1
                held.append(block)
            self._hashed[key] = hit_blocks
        for _ in range(blocks_for(num_tokens, self.block_size) - len(held)):
            held.append(self._take(key))
        request.num_blocks = len(held)
        self._register(request, held, min(num_tokens, request.num_tokens) // self.block_size)

    def free(self, request: Request) -> None:
        """Take back all blocks of ``request``, last block first.

        Blocks without a hash go to the front of the free queue, to be taken first; the others to
        its end, so that the ends of prefixes are evicted before their beginnings.
        """
        key = request.request_id
        self._hashed.pop(key, None)
        for block in reversed(self._blocks_of.pop(key, [])):
            self._ref[block] -= 1
            if self._ref[block] == 0:
                self._free[block] = None
                if block not in self._block_hash:
                    self._free.move_to_end(block, last=False)
        request.num_blocks = 0
        if request.finish_reason is not None:
            self._chains.pop(key, None)

    def leak(self, n_blocks: int) -> int:
        """Take up to ``n_blocks`` out of the free list for good; return how many there were to take."""
        taken = min(n_blocks, len(self._free))
        for _ in range(taken):
            self._take("leak")
        self.num_leaked += taken
        return taken

    def _take(self, whom: str) -> int:
        if not self._free:
            raise RuntimeError(f"{whom}: a block wanted, none free")
        block, _ = self._free.popitem(last=False)
        block_hash = self._block_hash.pop(block, None)
        if block_hash is not None:
            blocks = self._hash_blocks[block_hash]
            del blocks[block]
            if not blocks:
                del self._hash_blocks[block_hash]
        self._ref[block] = 1
        return block

    def _hits(self, request: Request) -> list[int]:
        hits: list[int] = []
        for block_hash in self._chain(request, (request.num_tokens - 1) // self.block_size):
            blocks = self._hash_blocks.get(block_hash)
            if not blocks:
                break
            hits.append(next(iter(blocks)))
        return hits

    def _register(self, request: Request, held: list[int], num_full: int) -> None:
        done = self._hashed.get(request.request_id, 0)
        if num_full <= done:
            return
        chain = self._chain(request, num_full)
        for block, block_hash in zip(held[done:num_full], chain[done:num_full], strict=True):
            self._block_hash[block] = block_hash
            self._hash_blocks.setdefault(block_hash, {})[block] = None
        self._hashed[request.request_id] = num_full

    def _chain(self, request: Request, num_full: int) -> list[BlockHash]:
        """Return the hashes of the first ``num_full`` blocks, computing those not yet known."""
        chain = self._chains.setdefault(request.request_id, [])
        size = self.block_size
        for index in range(len(chain), num_full):
            parent = chain[-1] if chain else b""
            tokens = request.tokens(index * size, (index + 1) * size)
            chain.append(blake2b(parent + repr(tokens).encode(), digest_size=16).digest())
        return chain[:num_full]


type Pool = CountingPool | BlockPool
