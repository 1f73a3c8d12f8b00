"""Inference across languages: learn from English sentence pairs what follows from what, and predict it in French.

This runs offline on made-up pairs of the demo's words: a hypothesis follows from a premise if it contains only words of
the premise, and does not if it contains another word. With the paper's corpora (`fipp download multinli xnli`):

    train = load_nli("multinli/multinli_1.0_train.jsonl")
    test = load_nli("xnli/xnli.test.tsv", "fr")

The network needs the extra fipp[torch], and a GPU for MultiNLI; without torch, only the baseline runs.
"""

import importlib.util

import numpy as np

import fipp
from fipp.tasks import InferenceCorpus, transfer

rng = np.random.default_rng(0)
demo = fipp.datasets.load_demo()
pairs = [pair for pair in demo.seed if pair[0] in demo.source and pair[1] in demo.target]
for_seed, for_training, for_test = pairs[0::3], pairs[1::3], pairs[2::3]


def sentences(pairs, side, count):
    """Return premises of two words with hypotheses of one word: a word of the premise, or another."""
    premises, hypotheses, labels = [], [], []
    for _ in range(count):
        *premise, other = rng.choice(len(pairs), 3, replace=False)
        follows = bool(rng.integers(2))
        hypothesis = premise[:1] if follows else [other]
        premises.append(" ".join(pairs[row][side] for row in premise))
        hypotheses.append(" ".join(pairs[row][side] for row in hypothesis))
        labels.append("entailment" if follows else "neutral")
    return InferenceCorpus(premises, hypotheses, labels)


train, test = sentences(for_training, 0, 2000), sentences(for_test, 1, 400)
print(f"{train} in English, such as: {train.premises[0]!r}, {train.hypotheses[0]!r}")
print(f"{test} in French, such as: {test.premises[0]!r}, {test.hypotheses[0]!r}\n")

spaces = {
    "not aligned": (demo.source, demo.target),
    "Procrustes": fipp.align(demo.source, demo.target, for_seed, "procrustes"),
    "FIPP": fipp.align(demo.source, demo.target, for_seed, "fipp"),
}
classifiers = {"logistic": {}}
if importlib.util.find_spec("torch") is not None:
    classifiers["esim"] = {"hidden": 64, "epochs": 4, "batch_size": 64, "learning_rate": 3e-3, "dropout": 0.1}
for classifier, options in classifiers.items():
    for name, space in spaces.items():
        result = transfer(space, train, test, classifier, **options)
        low, high = result.interval()
        print(f"{classifier:>9}  {name:>12}  accuracy {result.accuracy:.3f} ({low:.3f} to {high:.3f})")
print(f"\nalways predicting the same label: {result.chance:.3f}")
print("Overlap between two sentences of one language needs no alignment; knowledge about words does.")
