"""Classify documents across languages: learn topics from English texts, recognise them in French ones.

This runs offline. The texts are made up from words of the demo, and a topic consists of the words nearest to one word.
With the paper's corpus (see `fipp download ted-cldc`):

    train, test = load_ted("ted-cldc", "en-fr", "train"), load_ted("ted-cldc", "fr-en", "test")

The network needs the extra fipp[torch]; without torch, only the baseline runs.
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
# The test texts use neither seed words of the alignment nor words of the training texts.
for_seed, for_training, for_test = pairs[0::3], pairs[1::3], pairs[2::3]


def texts(pairs, side, count):
    """Return texts in one language, each with eight words of a topic and twelve random ones."""
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
    print(f"{classifier:>9}  FIPP minus Procrustes on the same texts, 95 % interval: {low:+.3f} to {high:+.3f}")

print(f"\npredicting every topic for every text: {result.chance:.3f}")
print(f"coverage of the test texts: {result.test}")
