"""Which words mean something else in another corpus? Neighbours lost and gained between two sets of vectors.

    python shifted_words.py glove.840B.300d.txt news.vec
    python shifted_words.py --texts old.txt new.txt

The first command compares two files of vectors, from the most frequent word to the rarest. The second one compares two
corpora, with one document per line: it makes vectors of each, and of two random halves of all documents, between which
nothing changed. Those halves say how much a word changes by chance.

Without arguments, the script compares two corpora that every installation has: the docstrings of scikit-learn and those
of Python's standard library.
"""

import ast
import re
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.utils.extmath import randomized_svd

import fipp
from fipp.evaluate import Shift, shift

WORD = re.compile(r"[a-z]{2,}")
FEWEST = 20  # occurrences of a word in either corpus
WINDOW, DIMENSIONS = 5, 100
Documents = list[list[str]]


def docstrings(folder: Path) -> Documents:
    """Return the words of every docstring of a package, without its tests and the packages below it."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        if not {"test", "tests", "site-packages"} & set(path.relative_to(folder).parts):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8", errors="replace"))):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                    found.append(WORD.findall(text.lower()))
    return found


def word_vectors(documents: Documents, words: list[str]) -> fipp.Vectors:
    """Return vectors of words: the largest singular vectors of their positive pointwise mutual information."""
    row = {word: number for number, word in enumerate(words)}
    # A gap between documents, so that no word is beside one of another document.
    gap = [-1] * WINDOW
    rows = np.array([number for text in documents for number in [*(row.get(word, -1) for word in text), *gap]])
    counts = sp.csr_matrix((len(words), len(words)))
    for distance in range(1, WINDOW + 1):
        here, there = rows[:-distance], rows[distance:]
        both = (here >= 0) & (there >= 0)
        counts += sp.csr_matrix((np.ones(both.sum()), (here[both], there[both])), counts.shape)
    counts = (counts + counts.T).tocoo()
    sums = np.bincount(counts.row, counts.data, len(words))
    chances = sums**0.75 / (sums**0.75).sum()  # smoothed, because rare contexts would get too much weight
    information = np.log(counts.data / (sums[counts.row] * chances[counts.col]))
    positive = information > 0
    matrix = sp.csr_matrix((information[positive], (counts.row[positive], counts.col[positive])), counts.shape)
    U, values, _ = randomized_svd(matrix, min(DIMENSIONS, len(words) - 1), random_state=0)
    return fipp.Vectors(words, (U * np.sqrt(values)).astype(np.float32))


def halves(documents: Documents, seed: int = 0) -> tuple[Documents, Documents]:
    """Return two random halves of a corpus."""
    order = np.random.default_rng(seed).permutation(len(documents))
    first, second = np.array_split(order, 2)
    return [documents[number] for number in first], [documents[number] for number in second]


def shared_words(old: Documents, new: Documents) -> list[str]:
    """Return the words that are frequent enough in both corpora, the most frequent first."""
    counts = [Counter(word for text in corpus for word in text) for corpus in (old, new)]
    return [word for word, _ in (counts[0] + counts[1]).most_common() if min(each[word] for each in counts) >= FEWEST]


def compare(old: Documents, new: Documents) -> Shift:
    """Compare two corpora; what is usual is seen between two random halves of both together."""
    words = shared_words(old, new)
    first, second = (word_vectors(half, words) for half in halves(old + new))
    return shift(word_vectors(old, words), word_vectors(new, words), null=(first, second))


def show(found: Shift, n: int) -> None:
    than = "between halves of one corpus" if found.from_null else "others of their frequency"
    print(f"{len(found.changed)} of {len(found.items)} words changed clearly more than {than}")
    for each in found.items[:n]:
        print(f"{each.item}: z {each.z:.1f}, lost {', '.join(each.lost[:4])}; gained {', '.join(each.gained[:4])}")


def library_docstrings() -> tuple[Documents, Documents]:
    """Return the docstrings of scikit-learn and of the standard library."""
    return docstrings(Path(sklearn.__file__).parent), docstrings(Path(sysconfig.get_paths()["stdlib"]))


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--texts":
        corpora = [Path(name).read_text(encoding="utf-8").lower().splitlines() for name in sys.argv[2:]]
        show(compare(*([WORD.findall(line) for line in corpus] for corpus in corpora)), 20)
    elif len(sys.argv) == 3:
        show(shift(*(fipp.Vectors.load(path, limit=20_000) for path in sys.argv[1:])), 20)
    else:
        show(compare(*library_docstrings()), 15)
