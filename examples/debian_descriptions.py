"""Real documents in three languages: predict the Debian section of a package from its description.

Debian describes its packages in English, and its translators have translated many descriptions into French and Russian.
This script trains a classifier on English descriptions in the shared space of an alignment method, and tests it on
French and Russian descriptions of other packages. Fetch the descriptions with

    apt-get -o Acquire::Languages=en,fr,ru -o Acquire::GzipIndexes=false -o Dir::State::Lists=$PWD/lists update
    rm -f lists/*security* lists/*updates*

on Debian (as root), or copy main/binary-*/Packages and main/i18n/Translation-{en,fr,ru} of a release, unpacked, into a
folder. Then

    python debian_descriptions.py lists --language fr --source en.vec --target fr.vec --dict seed.tsv --results kept

runs every method. If it is interrupted, run the same command again to resume.

Without arguments, the script shows its steps on three packages.
"""

import argparse
import hashlib
import importlib.util
import json
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

import fipp
from fipp.aligners import METHODS
from fipp.exceptions import FippError
from fipp.tasks import DocumentCorpus, mean_interval, transfer

# Chosen by the loss on held-out English descriptions and by training time.
CNN = {
    **{"widths": (1, 2, 3), "filters": 32, "shared": True, "max_words": 40, "dropout": 0.2},
    **{"learning_rate": 2e-3, "epochs": 8, "patience": 2},
}
# With the default of 20,000 words, each of these takes at least twenty minutes of processor time.
SMALLER = {f"vecmap-{mode}": {"max_words": 4000} for mode in ("semi", "identical", "unsupervised")}
NOT_ALIGNED, ENGLISH = "not aligned", "English itself"


def stanzas(path: Path) -> Iterator[dict[str, str]]:
    """Yield the paragraphs of a control file as fields; lines that start with a space continue a field."""
    fields: dict[str, str] = {}
    name = ""
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if not line:
                if fields:
                    yield fields
                fields, name = {}, ""
            elif line[0] in " \t":
                if name:
                    # A full stop alone stands for an empty line.
                    fields[name] += "\n" + ("" if line.strip() == "." else line.strip())
            else:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
    if fields:
        yield fields


def read_packages(folder: Path) -> dict[str, tuple[str, str]]:
    """Return the section and source package of each package; if several files list it, the first counts."""
    found: dict[str, tuple[str, str]] = {}
    for path in files_of(folder, "Packages"):
        for fields in stanzas(path):
            if "Package" in fields and "Section" in fields:
                source = fields.get("Source", fields["Package"]).split()[0]
                section = fields["Section"].rpartition("/")[2]
                found.setdefault(fields["Package"], (section, source))
    return found


def read_descriptions(folder: Path, language: str) -> dict[str, str]:
    """Return the short and long description of each package in a language."""
    found: dict[str, str] = {}
    for path in files_of(folder, f"Translation-{language}"):
        for fields in stanzas(path):
            text = fields.get(f"Description-{language}")
            if "Package" in fields and text:
                found.setdefault(fields["Package"], text)
    return found


def files_of(folder: Path, ending: str) -> list[Path]:
    paths = sorted(path for path in folder.iterdir() if path.name.endswith(ending))
    if not paths:
        raise SystemExit(f"{folder} has no file {ending}; see the head of this script for how to fetch it")
    return paths


def is_for_training(source: str) -> bool:
    """Divide source packages into two halves by name, so that no package is in both."""
    return hashlib.sha256(source.encode()).digest()[0] % 2 == 0


def choose_sections(packages: Mapping[str, tuple[str, str]], rarest: Mapping[str, str], least: int) -> list[str]:
    """Return the sections with at least ``least`` descriptions in the language that has the fewest."""
    counts = Counter(packages[name][0] for name in rarest if name in packages)
    return sorted(section for section, count in counts.items() if count >= least)


def corpus(
    packages: Mapping[str, tuple[str, str]],
    descriptions: Mapping[str, str],
    sections: list[str],
    training: bool,
    only: Mapping[str, str] | None = None,
) -> DocumentCorpus:
    """Return the descriptions of one half; a text that several packages share is used once.

    With ``only``, include only packages that it describes too.
    """
    texts: dict[str, str] = {}
    for name, text in sorted(descriptions.items()):
        section, source = packages.get(name, ("", ""))
        if section in sections and is_for_training(source) == training and (only is None or name in only):
            texts.setdefault(text, section)
    return DocumentCorpus.from_single(list(texts), list(texts.values()), sections)


def space_of(name: str, source: fipp.Vectors, target: fipp.Vectors, seed: fipp.Lexicon) -> tuple[object, dict]:
    """Return the space of a method, or its error message, with its seconds and warnings."""
    if name in (ENGLISH, NOT_ALIGNED):
        return (source, source if name == ENGLISH else target), {}
    started = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", fipp.FippWarning)
        try:
            pairs = None if METHODS[name].learns_from == "identical" else seed
            space: object = fipp.align(source, target, pairs, name, **SMALLER.get(name, {}))
        except (FippError, np.linalg.LinAlgError, ValueError) as error:
            space = str(error)
    told: dict = {"align_seconds": time.process_time() - started}
    if warned := [str(each.message) for each in caught if issubclass(each.category, fipp.FippWarning)]:
        told["warnings"] = warned
    return space, told


def measure(space: object, train: DocumentCorpus, test: DocumentCorpus, classifier: str, trainings: int) -> dict:
    """Train and test; a failure is recorded with its reason."""
    if isinstance(space, str):
        return {"error": space}
    options = [{**CNN, "random_state": number} for number in range(trainings)] if classifier == "cnn" else [{}]
    started = time.process_time()
    try:
        results = [transfer(space, train, test, classifier, **each) for each in options]
    except FippError as error:
        return {"error": str(error)}
    told = {
        name: float(np.mean([getattr(result, name) for result in results]))
        for name in ("micro_f1", "macro_f1", "precision", "recall", "chance")
    }
    return {
        **told,
        "interval": list(mean_interval(results)),
        "trainings": [result.micro_f1 for result in results],
        "texts": len(test),
        "train_found": results[0].training.share,
        "test_found": results[0].test.share,
        "seconds": time.process_time() - started,
    }


def run(arguments: argparse.Namespace) -> None:
    packages = read_packages(arguments.lists)
    english = read_descriptions(arguments.lists, "en")
    foreign = read_descriptions(arguments.lists, arguments.language)
    rarest = read_descriptions(arguments.lists, arguments.rarest or arguments.language)
    sections = choose_sections(packages, rarest, arguments.least)
    train = corpus(packages, english, sections, training=True).sample(arguments.train)
    test = corpus(packages, foreign, sections, training=False)
    same_in_english = corpus(packages, english, sections, training=False, only=foreign)
    print(f"{len(sections)} sections: {', '.join(sections)}")
    print(f"{len(train):,} English descriptions to train on, {len(test):,} in {arguments.language} to test on")
    source, target = fipp.Vectors.load(arguments.source), fipp.Vectors.load(arguments.target)
    seed = fipp.Lexicon.load(arguments.dict)
    done = read_results(arguments.results)
    for name in arguments.methods:
        keys = {classifier: (arguments.language, name, classifier) for classifier in arguments.classifiers}
        missing = [each for each, key in keys.items() if arguments.again or is_missing(done.get(key), each, arguments)]
        if missing:
            space, told = space_of(name, source, target, seed)
            texts = same_in_english if name == ENGLISH else test
        for classifier in missing:
            result = {**measure(space, train, texts, classifier, arguments.trainings), **told}
            done[keys[classifier]] = result
            write_result(arguments.results, keys[classifier], result)
        for key in keys.values():
            print(line_of(key, done[key]), flush=True)


def is_missing(told: dict | None, classifier: str, arguments: argparse.Namespace) -> bool:
    """Return whether there is no result, or one with fewer training runs than requested."""
    if told is None or "error" in told:
        return told is None
    return classifier == "cnn" and len(told["trainings"]) < arguments.trainings


def line_of(key: tuple, told: dict) -> str:
    _, name, classifier = key
    if "error" in told:
        return f"{name:>19} {classifier:>9}  {told['error']}"
    low, high = told["interval"]
    each = f" (runs: {', '.join(f'{f1:.3f}' for f1 in told['trainings'])})" if len(told["trainings"]) > 1 else ""
    return (
        f"{name:>19} {classifier:>9}  micro F1 {told['micro_f1']:.3f} ({low:.3f} to {high:.3f}){each}, "
        f"macro {told['macro_f1']:.3f}, {told['test_found']:.1%} of the words found, {told['seconds']:.0f} s"
    )


def read_results(path: Path | None) -> dict[tuple, dict]:
    """Read the saved results; the last one for each method, language and classifier counts."""
    if path is None or not path.exists():
        return {}
    records = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {tuple(record["key"]): record["result"] for record in records}


def write_result(path: Path | None, key: tuple, told: dict) -> None:
    if path is not None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, "result": told}) + "\n")


def show_pieces() -> None:
    """Show how the files are read, on three packages."""
    packages = {"chess": ("games", "chess"), "mixer": ("sound", "mixer"), "chess-data": ("games", "chess")}
    french = {"chess": "jeu d'échecs", "mixer": "table de mixage", "chess-data": "jeu d'échecs"}
    with tempfile.TemporaryDirectory() as folder:
        for name, fields in (
            ("x_Packages", {n: f"Section: {section}\nSource: {source}" for n, (section, source) in packages.items()}),
            ("x_Translation-fr", {n: f"Description-fr: {text}\n Pour Debian." for n, text in french.items()}),
        ):
            paragraphs = (f"Package: {package}\n{rest}\n" for package, rest in fields.items())
            Path(folder, name).write_text("\n".join(paragraphs), encoding="utf-8")
        sections = read_packages(Path(folder))
        descriptions = read_descriptions(Path(folder), "fr")
    for part in (True, False):
        names = {name for name in descriptions if is_for_training(sections[name][1]) == part}
        print(f"{'training' if part else 'test'} set: {', '.join(sorted(names)) or 'none'}")
    print(corpus(sections, descriptions, ["games", "sound"], is_for_training("chess")))
    print("\nThe head of this script and --help say how to run it on real data.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path, nargs="?", help="folder with Packages and Translation-* files")
    parser.add_argument("--language", default="fr", help="language of the test descriptions")
    parser.add_argument("--source", type=Path, help="English vectors")
    parser.add_argument("--target", type=Path, help="vectors of that language")
    parser.add_argument("--dict", type=Path, help="seed dictionary")
    spaces = [ENGLISH, NOT_ALIGNED, *METHODS]
    parser.add_argument("--methods", nargs="*", choices=spaces, default=spaces, metavar="NAME", help="all by default")
    parser.add_argument("--classifiers", nargs="*", choices=["logistic", "cnn"], default=["logistic", "cnn"])
    parser.add_argument("--trainings", type=int, default=3, help="training runs of the network, each with another seed")
    parser.add_argument("--train", type=int, default=6000, help="English descriptions to train on, drawn at random")
    parser.add_argument("--least", type=int, default=40, help="smallest number of descriptions per section …")
    parser.add_argument("--rarest", help="… in this language; by default, that of --language")
    parser.add_argument("--results", type=Path, help="save results here, and do not repeat those it already holds")
    parser.add_argument("--again", action="store_true", help="repeat saved results; the later ones count")
    arguments = parser.parse_args()
    if arguments.lists is None:
        show_pieces()
    elif not (arguments.source and arguments.target and arguments.dict):
        parser.error("--source, --target and --dict are required")
    elif "cnn" in arguments.classifiers and importlib.util.find_spec("torch") is None:
        parser.error("the CNN needs torch: pip install 'fipp[torch]', or use --classifiers logistic")
    else:
        run(arguments)


if __name__ == "__main__":
    main()
