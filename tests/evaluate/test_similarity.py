"""Word similarity, against loops; files in the layouts that are about."""

import numpy as np
import pytest

import fipp
from fipp.evaluate import cross_similarity, load_similarity, similarity, similarity_before_after
from fipp.exceptions import FippError, FippWarning


def cosine(first, second):
    first, second = np.asarray(first, float), np.asarray(second, float)
    return round(first @ second / np.linalg.norm(first) / np.linalg.norm(second), 12)


@pytest.fixture
def vectors(rng):
    return fipp.Vectors([f"w{i}" for i in range(60)], rng.standard_normal((60, 6)))


@pytest.fixture
def items(rng):
    pairs = rng.integers(70, size=(200, 2))  # the last ten words have no vectors
    return [(f"w{i}", f"w{j}", float(score)) for (i, j), score in zip(pairs, rng.integers(5, size=200), strict=True)]


def pearson(first, second):
    first, second = np.asarray(first) - np.mean(first), np.asarray(second) - np.mean(second)
    return sum(first * second) / np.sqrt(sum(first**2) * sum(second**2))


def spearman(first, second):
    """Correlate ranks, which are mean ranks for ties, counted one by one."""
    ranks = [
        [sum(other < value for other in side) + (sum(other == value for other in side) + 1) / 2 for value in side]
        for side in (first, second)
    ]
    return pearson(*ranks)


def found(items):
    return [item for item in items if all(int(word[1:]) < 60 for word in item[:2])]


def test_one_space_agrees_with_a_loop(vectors, items):
    result = similarity(vectors, items)
    cosines = [cosine(vectors[a], vectors[b]) for a, b, _ in found(items)]
    scores = [score for _, _, score in found(items)]
    assert result.spearman == pytest.approx(spearman(cosines, scores))
    assert result.pearson == pytest.approx(pearson(cosines, scores))
    assert (result.pairs, result.total) == (len(cosines), 200)
    assert result.as_dict()["coverage"] == len(cosines) / 200


@pytest.fixture
def alignment(vectors, rng):
    target = fipp.Vectors(vectors.words, vectors.matrix[:, ::-1] + 0.3 * rng.standard_normal((60, 6)))
    return fipp.align(vectors, target, [(word, word) for word in vectors.words[:40]], "fipp")


def test_two_spaces_are_compared_in_the_shared_one(alignment, items):
    source, target = alignment.transform(), alignment.transform_target()
    cosines = [cosine(source[a], target[b]) for a, b, _ in found(items)]
    result = cross_similarity(alignment, items)
    assert result.spearman == pytest.approx(spearman(cosines, [item[2] for item in found(items)]))


@pytest.mark.parametrize("side", ["source", "target"])
def test_before_and_after_are_those_of_the_vectors_and_the_mapped_vectors(alignment, items, side):
    before, after = similarity_before_after(alignment, iter(items), side)
    mapped = alignment.transform() if side == "source" else alignment.transform_target()
    assert before == similarity(getattr(alignment, side), items)
    expected = similarity(mapped, items)
    assert after.spearman == pytest.approx(expected.spearman) and after.pearson == pytest.approx(expected.pearson)
    assert before != after


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "cat\ttiger\t7.5\nnew york\tcat\t1\n"),
        ("a.tsv", "# who made it\n# when\nword1\tword2\tsimilarity\tsd\ncat\ttiger\t7.5\t1\nnew york\tcat\t1\t2\n"),
        ("a.csv", ",word1,word2,similarity\n0,cat,tiger,7.5\n1,new york,cat,1.0\n"),
        ("a.csv", 'Word 1,Word 2,Human (mean)\r\ncat,tiger,7.50\r\n"new york",cat,1\r\n'),
        ("a.txt", "cat;tiger;7,5\nnew york;cat;1,0\n"),
        ("a.txt", "word1\tword2\tPOS\tSimLex999\tconc\ncat\ttiger\tN\t7.5\t2\nnew york\tcat\tN\t1\t2\n"),
        ("a.txt", ",word1,word2,similarity\n0,cat,tiger,7.5\n1,new york,cat,1.0\n"),
    ],
)
def test_layouts_are_told_from_the_content(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert load_similarity(path) == [("cat", "tiger", 7.5), ("new york", "cat", 1.0)]


def test_white_space_separates_too(tmp_path):
    (tmp_path / "men.txt").write_text("sun sunlight 50.0\ncar  bus 31\n")
    assert load_similarity(tmp_path / "men.txt") == [("sun", "sunlight", 50.0), ("car", "bus", 31.0)]


def test_lines_without_a_score_are_counted_or_refused(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("cat\ttiger\t7.5\nlake\tswamp\t1.Aug\ncar\tbus\t5\n")
    with pytest.warns(FippWarning, match=r"skipped 1 malformed line \(line 2"):
        assert len(load_similarity(path)) == 2
    with pytest.raises(FippError, match="line 2"):
        load_similarity(path, strict=True)


def test_what_holds_no_scores_or_finds_no_word_is_refused(tmp_path, vectors):
    path = tmp_path / "a.tsv"
    for text in ("", "cat\tchat\ndog\tchien\n"):
        path.write_text(text)
        with pytest.raises(FippError, match="no two words with a number"):
            load_similarity(path)
    with pytest.raises(FippError, match="are the vectors of that language"):
        similarity(vectors, [("cat", "dog", 1.0)])
    with pytest.raises(FippError, match="no pairs of words"):
        similarity(vectors, [])


def test_scores_that_do_not_vary_give_no_correlation(vectors):
    result = similarity(vectors, [("w1", "w2", 3.0), ("w3", "w4", 3.0)])
    assert np.isnan(result.spearman) and result.as_dict()["pearson"] is None


def test_the_sets_of_the_shared_data_are_read_whole(shared_data):
    sizes = {}
    for path in sorted((shared_data / "similarity").glob("en*")):
        sizes[path.name] = len(load_similarity(path))
    assert sizes == {
        "en-fr.rg65.csv": 100,
        "en-mturk771.tsv": 771,
        "en-simlex999.tsv": 999,
        "en-wordsim353-all.tsv": 353,
        "en.semeval17.csv": 500,
    }
