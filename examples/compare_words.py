"""Word similarity: does alignment change English, and do similarities across languages agree with human judgement?

This runs offline, on a few pairs with scores that were made up for this script. To use the sets of the paper's
appendix D.3 (`fipp download simlex` fetches one of them) and any method:

    fipp reproduce words en.vec fr.vec --dict seed.tsv --source-set simlex999.tsv --across en-fr.csv
"""

import fipp
from fipp.evaluate import cross_similarity, similarity_before_after

# Two English words, the French translation of the second, and the similarity of the two words from 0 to 10.
SCORED = [
    *[("house", "home", "maison", 9.0), ("house", "roof", "toit", 5.5), ("house", "tuesday", "mardi", 0.2)],
    *[("bread", "cheese", "fromage", 5.0), ("bread", "flour", "farine", 6.0), ("bread", "war", "guerre", 0.3)],
    *[("king", "queen", "reine", 8.5), ("king", "prince", "prince", 7.5), ("king", "milk", "lait", 0.5)],
    *[("doctor", "nurse", "infirmière", 7.5), ("doctor", "hospital", "hôpital", 6.0), ("doctor", "tree", "arbre", 0.4)],
    *[("river", "lake", "lac", 6.5), ("river", "water", "eau", 5.5), ("river", "music", "musique", 0.3)],
]
within = [(first, second, score) for first, second, _, score in SCORED]
across = [(first, french, score) for first, _, french, score in SCORED]

demo = fipp.datasets.load_demo()
print(f"Spearman's correlation with {len(SCORED)} scores")
for method in ("procrustes", "fipp", "cca"):
    alignment = fipp.align(demo.source, demo.target, demo.seed, method)
    before, after = similarity_before_after(alignment, within)
    between = cross_similarity(alignment, across)
    print(
        f"{method:>11}  English: {before.spearman:.3f} before alignment, {after.spearman:.3f} after; "
        f"English and French: {between.spearman:.3f} ({between.pairs} of {between.total} pairs found)"
    )
print("\nProcrustes only rotates English, so similarities do not change. These pairs are too few to rank methods.")
