"""How good a map is without a dictionary: from CLDR names, equal words, equal numerals and cognates.

    python benchmarks/seeds.py [--pairs en-fr en-ru] [--limit N] [--with-test-words] [--seeds TEXT ...] [--methods ...]

Reads the vectors and XLING dictionaries of ../shared/data and prints Markdown tables. "right" is the share of the pairs
found that the XLING 5K training dictionary has, of those whose source word it has, with the number of those; many that
it has not are other translations or forms of the right word. Scores are MAP on the test dictionary, by cosine and CSLS.
Pairs whose source word is in the test dictionary are left out of the seed, as they are in XLING; with
--with-test-words there are columns for the seed as it was found, too.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from fipp import FIPP, Alignment, Auto, FippWarning, Lexicon, Vectors

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PAIRS = {"en-fr": ("en.spacymd300", "fr.spacymd300"), "en-ru": ("en.wink100", "ru.navecnews300")}
NAMES = {"fipp": "FIPP", "self-learning": "FIPP + self-learning", "auto": "auto"}


def seeds(source, target, languages, xling):
    identical = Lexicon.identical(source, target)
    words = Lexicon.identical(source, target, numerals=False)
    cldr = Lexicon.from_cldr(*languages)
    cognates = Lexicon.cognates(source, target)
    return {
        "XLING 1K": Lexicon.load(xling / "train.1k.tsv"),
        "XLING 5K": Lexicon.load(xling / "train.5k.tsv"),
        "CLDR names": cldr,
        "CLDR without emoji": Lexicon.from_cldr(
            *languages, kinds=["territories", "languages", "scripts", "months", "weekdays", "units", "cities"]
        ),
        "identical": identical,
        "identical, no numerals": words,
        "identical, 5 letters or more": Lexicon.identical(source, target, min_length=5, numerals=False),
        "numerals": Lexicon.numerals(source, target),
        "cognates": cognates,
        "cognates, distance 0.25": Lexicon.cognates(source, target, max_distance=0.25),
        "cognates, equal only": Lexicon.cognates(source, target, max_distance=0),
        "CLDR + numerals": cldr + Lexicon.numerals(source, target),
        "CLDR + cognates": cldr + cognates,
        "CLDR + identical": cldr + identical,
    }


def share_right(lexicon, gold):
    known = {}
    for source, target in gold:
        known.setdefault(source, set()).add(target)
    judged = [(source, target) for source, target in lexicon if source in known]
    return sum(target in known[source] for source, target in judged), len(judged)


def score(seed, source, target, test, setting):
    rows = seed.lookup(source, target).rows
    alignment = Alignment(setting.fit(source.matrix, target.matrix, rows), source, target)
    return [alignment.evaluate(test, retrieval=way).map for way in ("cosine", "csls")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=list(PAIRS))
    parser.add_argument("--self-learning", type=int, default=4000)
    parser.add_argument("--limit", type=int, help="take only so many words of either side")
    parser.add_argument("--with-test-words", action="store_true", help="score the whole seed as well")
    parser.add_argument("--seeds", nargs="+", default=[""], help="only seeds whose name contains one of these")
    parser.add_argument("--methods", nargs="+", choices=NAMES, default=list(NAMES))
    arguments = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"there is no data in {DATA}")
    warnings.simplefilter("ignore", FippWarning)
    # An hour, so that how busy the machine is has no say in what is chosen.
    settings = {"fipp": FIPP(), "self-learning": FIPP(self_learning=arguments.self_learning), "auto": Auto()}
    settings = {name: settings[name] for name in arguments.methods}
    names = [NAMES[name] for name in settings]
    if arguments.with_test_words:
        names += [f"{name}, with test words" for name in names]
    for pair in arguments.pairs:
        source, target = (Vectors.load(DATA / "vectors" / f"{name}.npy", arguments.limit) for name in PAIRS[pair])
        xling = DATA / "xling" / pair
        test, gold = Lexicon.load(xling / "test.2k.tsv"), Lexicon.load(xling / "train.5k.tsv")
        held_out = {word for word, _ in test}
        print(f"\n{pair}: {len(source):,} words of {PAIRS[pair][0]}, {len(target):,} of {PAIRS[pair][1]}\n")
        print("| seed | pairs found | right | pairs used |", " | ".join(names), "|")
        print("|---" * (4 + len(names)) + "|", flush=True)
        for name, found in seeds(source, target, pair.split("-"), xling).items():
            if not any(part in name for part in arguments.seeds):
                continue
            whole = found.filter(source, target)
            used = Lexicon([(left, right) for left, right in whole if left not in held_out])
            right, judged = share_right(whole, gold)
            share = f"{100 * right / judged:.0f} % of {judged:,}" if judged else "–"
            print(f"| {name} | {len(whole):,} | {share} | {len(used):,} |", end="", flush=True)
            for seed in (used, whole)[: 1 + arguments.with_test_words]:
                for setting in settings.values():
                    if not len(seed):
                        print(" – |", end="")
                        continue
                    maps = score(seed, source, target, test, setting)
                    print(" " + " / ".join(f"{value:.3f}".lstrip("0") for value in maps), end=" |", flush=True)
            print(flush=True)


if __name__ == "__main__":
    main()
