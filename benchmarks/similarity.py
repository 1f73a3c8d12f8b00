"""Word similarity before and after alignment, and how sure the scores of bilingual lexicon induction are: EN to FR."""

import sys
from pathlib import Path

import fipp
from fipp.evaluate import compare, cross_similarity, similarity, similarity_before_after

DATA = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2] / "shared" / "data")
SETS = ("en-wordsim353-all.tsv", "en-simlex999.tsv", "en-mturk771.tsv", "en.semeval17.csv")


def print_similarity(alignments):
    print("| set | pairs found | before | FIPP's preprocessing | FIPP | Procrustes |")
    print("|---|---|---|---|---|---|")
    aligner, source = alignments["fipp"].aligner, alignments["fipp"].source
    prepared = fipp.Vectors(source.words, aligner.source_preprocess_.transform(source.matrix))
    for name in SETS:
        items = DATA / "similarity" / name
        before, after = similarity_before_after(alignments["fipp"], items)
        after_rotation = similarity_before_after(alignments["procrustes"], items).after
        values = [result.spearman for result in (before, similarity(prepared, items), after, after_rotation)]
        print(f"| {name} | {after.pairs} of {after.total} | {' | '.join(f'{value:.3f}' for value in values)} |")
    for method, alignment in alignments.items():
        print(
            f"\nen-fr.rg65.csv across, {method}: {cross_similarity(alignment, DATA / 'similarity' / 'en-fr.rg65.csv')}"
        )


def print_significance(alignments):
    test = DATA / "xling/en-fr/test.2k.tsv"
    for way in ("cosine", "csls"):
        results = {method: alignment.evaluate(test, retrieval=way) for method, alignment in alignments.items()}
        for method, result in results.items():
            low, high = result.interval("map")
            print(f"\n{way}, {method}: MAP {result.map:.3f} ({low:.3f} to {high:.3f})")
            seed = alignments[method].evaluate(retrieval=way)
            mutual = f"mutual {seed.mutual_rate:.3f}, CSLS {seed.mean_csls:.3f}"
            print(f"cross-validated on the seed: MAP {seed.cross_validation.map:.3f}; {mutual}")
        print(f"FIPP less Procrustes: {compare(results['fipp'], results['procrustes'])}")


def main():
    source, target = (fipp.Vectors.load(DATA / f"vectors/{name}.spacymd300.npy") for name in ("en", "fr"))
    seed = DATA / "xling/en-fr/train.5k.tsv"
    alignments = {method: fipp.align(source, target, seed, method) for method in ("fipp", "procrustes")}
    print_similarity(alignments)
    print_significance(alignments)


if __name__ == "__main__":
    main()
