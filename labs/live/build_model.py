"""Build the folder of a tiny model: its shape, its tokenizer, its chat templates, and no weights.

Run as a file by any Python from 3.11 on, it needs the standard library only; ``make live`` runs it:

    python labs/live/build_model.py .live/models            every recipe of labs/live/models/
    python labs/live/build_model.py .live/models tiny-llama  one of them

The engine draws the weights itself (``--load-format dummy``), so a model is 13 kB of text, the same bytes each time.

The tokenizer is byte-level and has nothing to learn: a word of ``models/words.txt`` with the space before it is one
token, every other byte is one, and so are the marks of the template. How many tokens a text has can thus be counted
without the tokenizer: ``token_count``. Its format is that of ``tokenizer.json`` (Hugging Face tokenizers 0.23), a BPE
without merges which looks whole pieces up first (``ignore_merges``).
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

MODELS = Path(__file__).resolve().parent / "models"
TEMPLATES = ("steady", "clock-in-front")
"""Chat templates of every model; the first stands in its tokenizer, each lies in its folder as ``<name>.jinja``."""
MARKS = ("<pad>", "<s>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>")
VOCABULARY = 512
CONTEXT = 4096
"""The longest sequence, tokens."""


class RecipeError(Exception):
    """What is wrong with a recipe, in a sentence."""


def recipes() -> list[str]:
    """Names of the models that can be built."""
    return sorted(path.stem for path in MODELS.glob("*.toml"))


@cache
def words() -> tuple[str, ...]:
    """Return the words that are one token each if a space stands before them."""
    found = tuple((MODELS / "words.txt").read_text(encoding="utf-8").split())
    if len(set(found)) != VOCABULARY - len(MARKS) - 256:
        wanted = VOCABULARY - len(MARKS) - 256
        raise RecipeError(
            f"words.txt must hold {wanted} different words; it holds {len(set(found))}"
        )
    return found


def token_count(text: str) -> int:
    """Tokens of a text without marks, as the tokenizer splits it."""
    one_token = set(words())
    known = [word for word in re.findall(r" ([^\W\d_]+)", text) if word in one_token]
    return len(text.encode()) - sum(len(word) for word in known)


def _characters_of_bytes() -> list[str]:
    """The printable character that stands for each byte in a byte-level vocabulary.

    A byte that Latin-1 prints stands for itself; the others take the code points from 256 on, in order.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def _tokenizer() -> dict[str, Any]:
    of_byte = _characters_of_bytes()
    space = of_byte[ord(" ")]
    pieces = [*MARKS, *of_byte, *(space + word for word in words())]
    marks = [
        {
            "id": index,
            "content": mark,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for index, mark in enumerate(MARKS)
    ]
    bytes_of_text = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": marks,
        "normalizer": None,
        "pre_tokenizer": {**bytes_of_text, "use_regex": True},
        "post_processor": None,
        "decoder": {**bytes_of_text, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": {piece: index for index, piece in enumerate(pieces)},
            "merges": [],
        },
    }


def _template(name: str) -> str:
    return (MODELS / "templates" / f"{name}.jinja").read_text(encoding="utf-8")


def files_of(name: str) -> dict[str, str]:
    """Return the files of a model, by name. Raises RecipeError if there is no such recipe."""
    path = MODELS / f"{name}.toml"
    if not path.is_file():
        raise RecipeError(f"There is no model {name}; there are {', '.join(recipes())}.")
    shape = tomllib.loads(path.read_text(encoding="utf-8"))["config"]
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "bfloat16",
        **shape,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": CONTEXT,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "tie_word_embeddings": False,
        "pad_token_id": MARKS.index("<pad>"),
        "bos_token_id": MARKS.index("<s>"),
        "eos_token_id": MARKS.index("<|end|>"),
    }
    speech = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": "<pad>",
        "bos_token": "<s>",
        "eos_token": "<|end|>",
        "model_max_length": CONTEXT,
        "clean_up_tokenization_spaces": False,
        "chat_template": _template(TEMPLATES[0]),
    }
    return {
        "config.json": _json(config),
        "tokenizer.json": _json(_tokenizer()),
        "tokenizer_config.json": _json(speech),
        **{f"{template}.jinja": _template(template) for template in TEMPLATES},
    }


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def build(name: str, folder: Path) -> Path:
    """Write the model below ``folder`` and return its own folder. Raises RecipeError, OSError."""
    files = files_of(name)
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (place / file).write_text(text, encoding="utf-8", newline="\n")
    return place


def main(arguments: list[str]) -> int:
    """Build what is asked for; 2 if nothing was, 1 if a recipe cannot be followed."""
    if not arguments:
        print("usage: build_model.py FOLDER [MODEL …]", file=sys.stderr)
        return 2
    try:
        for name in arguments[1:] or recipes():
            print(build(name, Path(arguments[0])))
    except RecipeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
