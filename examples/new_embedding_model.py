"""Change the embedding model: find out from a sample whether converting vectors is good enough to skip re-embedding.

The index holds vectors from an old embedding model; queries will come from a new model with another dimension. Embed a
few thousand documents with both models. Fit maps on some of them, choose a map on others, and measure on the rest
whether queries of the new model find the documents that they would find if everything had been re-embedded. Only then
convert.

The documents here are made up so that the script runs anywhere; replace `old` and `new` with your own two matrices.
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
    """Return the same documents embedded by two models, which are related, but not by a linear map."""
    rng = np.random.default_rng(0)
    about = rng.standard_normal((N_DOCUMENTS, n_topics)) * np.geomspace(1, 0.2, n_topics)

    def embed(dimensions: int, noise: float) -> np.ndarray:
        seen = np.tanh(about @ rng.standard_normal((n_topics, dimensions)) / np.sqrt(n_topics))
        return (seen + noise * rng.standard_normal(seen.shape)).astype(np.float32)

    return embed(OLD_DIMENSIONS, noise=0.05), embed(NEW_DIMENSIONS, noise=0.02)


def recall_at_10(queries: np.ndarray, documents: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of the true ten nearest neighbours that are among the ten found, without the query itself."""
    kept = 0
    for i, (found, wanted) in enumerate(zip(nearest(queries, documents), nearest(truth, truth), strict=True)):
        kept += len((set(found) & set(wanted)) - {i})
    return kept / (10 * len(queries))


def nearest(queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
    return neighbours(queries, documents, 11).indices  # by cosine; eleven, because a document finds itself


def recall_of(aligner, part: slice) -> float:
    """Search the old model's converted documents with the new model's queries; the truth is the new model alone."""
    return recall_at_10(aligner.transform_target(new[part]), aligner.transform(old[part]), truth=new[part])


old, new = make_models()

# Row i of both matrices is the same document, so no pairs are needed. FIPP's defaults are meant for words of two
# languages: they remove a component, which changes the new model's own neighbours, and they filter inner products,
# although every pair here is certain.
candidates = {
    "Procrustes": fipp.Procrustes(),
    "FIPP, defaults": fipp.FIPP(),
    "FIPP, unit length, no filter": fipp.FIPP(preprocess="unit", epsilon=None),
    "FIPP, unit length, no filter, λ = 10": fipp.FIPP(preprocess="unit", epsilon=None, lam=10.0),
}
recalls = {}
print(f"recall@10 of the new model's neighbours, {OLD_DIMENSIONS} to {NEW_DIMENSIONS} dimensions, held-out documents:")
for name, aligner in candidates.items():
    recalls[name] = recall_of(aligner.fit(old[FIT], new[FIT]), CHOOSE)
    print(f"  {recalls[name]:.3f}  {name}")

best = max(recalls, key=recalls.__getitem__)
aligner = candidates[best]
recall = recall_of(aligner, REPORT)
least_squares = np.linalg.lstsq(old[FIT], new[FIT], rcond=None)[0]
yardstick = recall_at_10(new[REPORT], old[REPORT] @ least_squares, truth=new[REPORT])
n_report = REPORT.stop - REPORT.start
print(f"\non {n_report:,} documents used neither for fitting nor for choosing:")
print(f"  {recall:.3f}  {best}")
print(f"  {yardstick:.3f}  plain least squares{', which does better here' if yardstick > recall else ''}")
print(f"  {recall_at_10(old[REPORT], old[REPORT], truth=new[REPORT]):.3f}  no map: old queries on old documents")
print(f"  {10 / n_report:.3f}  chance")

if recall >= GOOD_ENOUGH:
    print(f"Verdict: convert. You lose {1 - recall:.0%} of the nearest neighbours.")
else:
    print(f"Verdict: re-embed. Users will notice a recall below {GOOD_ENOUGH}.")
print("Recall is lower in larger collections, whose neighbours are closer: hold out as many documents as you can.")

# Convert block by block, from disk to disk; the block size determines the memory.
with tempfile.TemporaryDirectory() as folder:
    np.save(Path(folder, "old.npy"), old)
    stored = np.load(Path(folder, "old.npy"), mmap_mode="r")
    shape = (len(stored), NEW_DIMENSIONS)
    converted = np.lib.format.open_memmap(Path(folder, "new.npy"), mode="w+", dtype=np.float32, shape=shape)
    for start in range(0, len(stored), BLOCK):
        converted[start : start + BLOCK] = aligner.transform(stored[start : start + BLOCK])
    converted.flush()
    print(f"\nconverted {len(converted):,} vectors from {stored.shape[1]} to {converted.shape[1]} dimensions")
    del stored, converted  # Windows cannot remove files that are still mapped
