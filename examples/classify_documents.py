"""Documents in two languages: learn topics from English texts, tell them in French ones.

Runs offline: the texts are made of words of the demo, a topic being the words around one word. With the corpus of the
paper (see `fipp download ted-cldc`):

    train, test = load_ted("ted-cldc", "en-fr", "train"), load_ted("ted-cldc", "fr-en", "test")

The network needs torch (pip install 'fipp[torch]'); without it, only the baseline is run.
"""

import importlib.util

import numpy as np

import fipp
from fipp.retrieve import neighbours
from fipp.tasks import DocumentCorpus, difference_interval, transfer

TOPICS = {"food": "cheese", "health": "disease", "law": "court", "travel": "road"}
rng = np.random.default_rng(0)
demo = fipp.datasets.load_demo()
pairs = [pair for pair in demo.seed if pair[0] in demo.source and pair[1] in demo.target]
# Words of the test are no seed words of the alignment, and none of the training.
for_seed, for_training, for_test = pairs[0::3], pairs[1::3], pairs[2::3]


def texts(pairs, side, count):
    """Return texts of eight words around a topic among twelve others, in one of the languages."""
    english = [source for source, _ in pairs]
    matrix = demo.source.matrix[demo.source.find(english)]
    centres = demo.source.matrix[demo.source.find(TOPICS.values())]
    near = neighbours(centres, matrix, 40).indices
    written, topics = [], []
    for _ in range(count):
        topic = rng.integers(len(TOPICS))
        rows = rng.permutation([*rng.choice(near[topic], 8), *rng.integers(len(pairs), size=12)])
        written.append(" ".join(pairs[row][side] for row in rows))
        topics.append(list(TOPICS)[topic])
    return DocumentCorpus.from_single(written, topics, TOPICS)


train, test = texts(for_training, 0, 600), texts(for_test, 1, 300)
print(f"{train} in English, such as:\n  {train.texts[0]}\n{test} in French, such as:\n  {test.texts[0]}\n")

spaces = {
    "not aligned": (demo.source, demo.target),
    "Procrustes": fipp.align(demo.source, demo.target, for_seed, "procrustes"),
    "FIPP": fipp.align(demo.source, demo.target, for_seed, "fipp"),
}
has_torch = importlib.util.find_spec("torch") is not None
classifiers = {
    "logistic": {},
    "cnn": {"widths": (1, 2), "filters": 32, "shared": True, "epochs": 8, "learning_rate": 1e-2},
}
for classifier, options in classifiers.items():
    if classifier == "cnn" and not has_torch:
        print("cnn: torch is not installed")
        continue
    results = {name: transfer(space, train, test, classifier, **options) for name, space in spaces.items()}
    for name, result in results.items():
        low, high = result.interval()
        print(f"{classifier:>9}  {name:>12}  micro-averaged F1 {result.micro_f1:.3f} ({low:.3f} to {high:.3f})")
    low, high = difference_interval(results["FIPP"], results["Procrustes"])
    print(f"{classifier:>9}  FIPP less Procrustes, on the same texts: {low:+.3f} to {high:+.3f}")

print(f"\nsaying yes to everything: {result.chance:.3f}")
print(f"words: {result.test}")
