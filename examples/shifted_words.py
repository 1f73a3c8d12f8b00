"""Which words mean something else in another corpus? Neighbours lost and gained between two sets of vectors.

    python shifted_words.py glove.840B.300d.txt news.vec

compares two files of vectors, from the most frequent word to the rarest. Without arguments, the script moves three
words of the bundled English vectors to other places, adds noise that is stronger for rare words, and finds them again.
"""

import sys

import numpy as np

import fipp
from fipp.evaluate import Shift, shift


def show(found: Shift, n: int) -> None:
    print(f"{len(found.changed)} of {len(found.items)} words changed clearly more than others of their frequency")
    for each in found.items[:n]:
        print(f"{each.item}: z {each.z:.1f}, lost {', '.join(each.lost[:4])}; gained {', '.join(each.gained[:4])}")


def demo(n: int = 2000) -> None:
    english = fipp.datasets.load_demo().source
    old = english.rows(np.arange(min(n, len(english))))
    rng = np.random.default_rng(0)
    deviation = old.matrix.std() * np.linspace(0.1, 0.8, len(old))[:, None]
    changed = old.matrix + deviation * rng.standard_normal(old.matrix.shape)
    moved = {40: 900, 600: 150, 1500: 300}
    for word, place in moved.items():
        changed[word] = old.matrix[place] + deviation[word] * rng.standard_normal(old.dim)
        print(f"{old.words[word]!r} is moved to {old.words[place]!r}")
    found = shift(old, fipp.Vectors(old.words, changed))
    show(found, 3)
    assert {each.item for each in found.items[:3]} == {old.words[word] for word in moved}


if __name__ == "__main__":
    if len(sys.argv) == 3:
        show(shift(*(fipp.Vectors.load(path, limit=20_000) for path in sys.argv[1:])), 20)
    else:
        demo()
