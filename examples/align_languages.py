"""Align two languages: learn a map from a dictionary, translate, evaluate, save and load.

This runs offline on the English and French vectors that come with fipp. To use your own:

    source = fipp.Vectors.load("wiki.en.vec", limit=200_000)
"""

import tempfile
from pathlib import Path

import fipp

demo = fipp.datasets.load_demo()
print(f"source {demo.source}, target {demo.target}")
print(f"{len(demo.seed):,} seed pairs, {len(demo.test)} test pairs")

# Learn the map. The default tries several methods on held-out pairs and uses the best one, which takes about a minute.
# Pairs whose words are not in both vocabularies are dropped and counted.
alignment = fipp.align(demo.source, demo.target, demo.seed)
print(f"\n{alignment}")
print(f"chosen: {alignment.aligner.chosen_}")

# Translate. CSLS penalises hubs, words that are near many others.
words = ["coffee", "queen", "sunday", "wife"]
for word, found in zip(words, alignment.translate_all(words, k=3, retrieval="csls"), strict=True):
    print(f"{word:>8} -> {', '.join(best.word for best in found)}")

# Evaluate on pairs that the map has not seen, and compare with FIPP and with Procrustes, the usual baseline, which take
# less than a second. A difference of a few words out of 200 may be chance.
by_fipp = fipp.align(demo.source, demo.target, demo.seed, method="fipp", epsilon=0.1, lam=1.0)
baseline = fipp.align(demo.source, demo.target, demo.seed, method="procrustes")
print(f"\nFIPP's filter kept {by_fipp.aligner.kept_fraction_:.0%} of the inner products")
for retrieval in ("cosine", "csls"):
    for name, measured in {"chosen": alignment, "FIPP": by_fipp, "Procrustes": baseline}.items():
        print(f"{name:<11} {measured.evaluate(demo.test, retrieval=retrieval)}")

# Save the map to one small file, which does not contain the vectors, and load exactly the same map again.
with tempfile.TemporaryDirectory() as folder:
    model = Path(folder, "en-fr.fipp")
    alignment.save(model)
    loaded = fipp.Alignment.load(model, demo.source, demo.target)
    print(f"\nsaved {model.stat().st_size / 1000:.0f} kB; 'house' is still {loaded.translate('house', k=1)[0].word!r}")
