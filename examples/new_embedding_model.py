"""Two models: can a map replace embedding forty million documents again? Ask a sample first.

The index holds vectors of an old embedding model; queries will come from a new one, of another dimension. Embed a few
thousand documents with both, learn maps from some, choose on others, and see on the rest whether a query of the new
model still finds the documents that it would find if everything had been embedded again. Only then convert.

The documents here are made up, so that the script runs anywhere; put your own two matrices in place of `old` and `new`.
"""

import tempfile
from pathlib import Path

import numpy as np

import fipp
from fipp.retrieve import neighbours

N_DOCUMENTS, OLD_DIMENSIONS, NEW_DIMENSIONS = 30_000, 192, 256
FIT, CHOOSE, REPORT = slice(0, 3_000), slice(3_000, 4_000), slice(4_000, 5_000)
GOOD_ENOUGH = 0.8
BLOCK = 5_000


def make_models(n_topics: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Return the same documents as two models see them: a little differently, and not by a linear map."""
    rng = np.random.default_rng(0)
    about = rng.standard_normal((N_DOCUMENTS, n_topics)) * np.geomspace(1, 0.2, n_topics)

    def embed(dimensions: int, noise: float) -> np.ndarray:
        seen = np.tanh(about @ rng.standard_normal((n_topics, dimensions)) / np.sqrt(n_topics))
        return (seen + noise * rng.standard_normal(seen.shape)).astype(np.float32)

    return embed(OLD_DIMENSIONS, noise=0.05), embed(NEW_DIMENSIONS, noise=0.02)


def recall_at_10(queries: np.ndarray, documents: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of the ten nearest neighbours by the truth that are among the ten found, the query left out."""
    kept = 0
    for i, (found, wanted) in enumerate(zip(nearest(queries, documents), nearest(truth, truth), strict=True)):
        kept += len((set(found) & set(wanted)) - {i})
    return kept / (10 * len(queries))


def nearest(queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
    return neighbours(queries, documents, 11).indices  # by cosine; eleven, for a document finds itself


def recall_of(aligner, part: slice) -> float:
    """Ask with the new model's queries in the old model's converted documents; the new model alone is the truth."""
    return recall_at_10(aligner.transform_target(new[part]), aligner.transform(old[part]), truth=new[part])


old, new = make_models()

# Row i of both is the same document, so no pairs need to be named. The defaults are made for words of two languages:
# they remove a component, which changes the new model's own neighbours, and distrust pairs. Here every pair is certain.
candidates = {
    "Procrustes": fipp.Procrustes(),
    "FIPP, defaults": fipp.FIPP(),
    "FIPP, unit length, no filter": fipp.FIPP(preprocess="unit", epsilon=None),
    "FIPP, unit length, no filter, λ = 10": fipp.FIPP(preprocess="unit", epsilon=None, lam=10.0),
}
recalls = {}
print(f"recall@10 of the new model's neighbours, {OLD_DIMENSIONS} to {NEW_DIMENSIONS} dimensions, to choose by:")
for name, aligner in candidates.items():
    recalls[name] = recall_of(aligner.fit(old[FIT], new[FIT]), CHOOSE)
    print(f"  {recalls[name]:.3f}  {name}")

best = max(recalls, key=recalls.__getitem__)
aligner = candidates[best]
recall = recall_of(aligner, REPORT)
least_squares = np.linalg.lstsq(old[FIT], new[FIT], rcond=None)[0]
yardstick = recall_at_10(new[REPORT], old[REPORT] @ least_squares, truth=new[REPORT])
n_report = REPORT.stop - REPORT.start
print(f"\non {n_report:,} documents that neither the maps nor the choice have seen:")
print(f"  {recall:.3f}  {best}")
print(f"  {yardstick:.3f}  plain least squares{', which does better here' if yardstick > recall else ''}")
print(f"  {recall_at_10(old[REPORT], old[REPORT], truth=new[REPORT]):.3f}  no map: the old model with its own queries")
print(f"  {10 / n_report:.3f}  chance")

if recall >= GOOD_ENOUGH:
    print(f"Verdict: yes, at the price of {1 - recall:.0%} of the neighbours.")
else:
    print(f"Verdict: no. Below {GOOD_ENOUGH} users will notice; embed the documents again.")
print("A larger collection has closer neighbours and a lower recall: hold out as many documents as you can.")

# Convert block by block, from disk to disk, in as little memory as you like.
with tempfile.TemporaryDirectory() as folder:
    np.save(Path(folder, "old.npy"), old)
    stored = np.load(Path(folder, "old.npy"), mmap_mode="r")
    shape = (len(stored), NEW_DIMENSIONS)
    converted = np.lib.format.open_memmap(Path(folder, "new.npy"), mode="w+", dtype=np.float32, shape=shape)
    for start in range(0, len(stored), BLOCK):
        converted[start : start + BLOCK] = aligner.transform(stored[start : start + BLOCK])
    converted.flush()
    print(f"\nconverted {len(converted):,} vectors from {stored.shape[1]} to {converted.shape[1]} dimensions")
    del stored, converted  # Windows does not remove files that are still mapped
