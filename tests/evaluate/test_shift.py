"""Items that changed their neighbourhoods are found, whatever their frequency, and noise alone finds hardly any."""

import json

import numpy as np
import pytest

from fipp import FippError, Vectors
from fipp.evaluate import shift


def spaces(n=1500, moved=(), noise=0.05, rare=0.0, seed=0):
    """Return clusters of words, and the same with noise, which may grow with the rank; moved words changed clusters."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((60, 10))
    X = centres[np.arange(n) % 60] + 0.4 * rng.standard_normal((n, 10))
    Y = X @ np.linalg.qr(rng.standard_normal((10, 10)))[0]
    scale = noise + rare * np.arange(n)[:, None] / n
    for row in moved:
        Y[row] = Y[(row + 7) % n] + 0.1 * rng.standard_normal(10)
    words = [f"w{row}" for row in range(n)]
    return Vectors(words, X + scale * rng.standard_normal(X.shape)), Vectors(
        words, Y + scale * rng.standard_normal(X.shape)
    )


def test_moved_words_are_found_with_their_neighbours_as_evidence():
    found = shift(*spaces(moved=(3, 500, 1400)))
    assert {each.item for each in found.items[:3]} == {"w3", "w500", "w1400"}
    first = found.items[0]
    row = int(first.item[1:])
    assert sum(int(each[1:]) % 60 == row % 60 for each in first.lost) > len(first.lost) / 2
    assert sum(int(each[1:]) % 60 == (row + 7) % 60 for each in first.gained) > len(first.gained) / 2
    assert len(found.items) == 1500 and len(first.lost) + len(first.kept) == 15


def test_noise_alone_changes_hardly_anything():
    found = shift(*spaces(noise=0.3))
    assert len(found.changed) < 0.04 * len(found.items)


def test_rare_words_that_are_merely_noisy_do_not_hide_a_frequent_one():
    found = shift(*spaces(moved=(3,), rare=3.0))
    by_z, by_change = ([each.item for each in ranked].index("w3") for ranked in (
        found.items, sorted(found.items, key=lambda each: -each.change)
    ))  # fmt: skip
    assert by_z < 5 < 10 < by_change
    assert found.bands[0][1] < found.bands[-1][1]


def test_a_null_pair_says_what_is_usual_when_most_items_changed():
    old, new = spaces(moved=range(0, 1500, 2))
    null = spaces(seed=1)
    alone, compared = shift(old, new), shift(old, new, null=null)
    assert compared.from_null and not alone.from_null
    # Half of all words moved; only the comparison with nothing changed shows it.
    assert len(compared.changed) > 700 > len(alone.changed)


def test_change_is_the_cosine_distance_of_standardised_cosines():
    old, new = spaces(n=200)
    found = {each.item: each for each in shift(old, new, k=5).items}
    X, Y = (side.matrix / np.linalg.norm(side.matrix, axis=1, keepdims=True) for side in (old, new))
    for word in (0, 77):
        near = [[each for each in np.argsort(-(side @ side[word])) if each != word][:5] for side in (X, Y)]
        U = near[0] + near[1]
        s = []
        for side in (X, Y):
            pairs = (side @ side.T)[np.triu_indices(200, 1)]
            s.append((side[U] @ side[word] - pairs.mean()) / pairs.std())
        expected = 1 - s[0] @ s[1] / np.linalg.norm(s[0]) / np.linalg.norm(s[1])
        # Mean and deviation are of random pairs.
        assert found[f"w{word}"].change == pytest.approx(expected, abs=0.005)


def test_items_of_one_side_only_are_left_out_and_the_result_is_the_same_each_time():
    old, new = spaces(n=400, moved=(5,))
    fewer = Vectors(new.words[:350], new.matrix[:350])
    first, again = (shift(old, fewer).as_dict(10) for _ in range(2))
    assert first == again and first["n_items"] == 350 and len(json.loads(json.dumps(first))["items"]) == 10


def test_too_few_shared_items_are_refused():
    old, new = spaces(n=100)
    with pytest.raises(FippError, match="only 0 items have vectors on both sides"):
        shift(old, Vectors([word.upper() + "x" for word in new.words], new.matrix))


def test_words_with_another_sense_are_found_between_web_and_news(shared_data):
    folder = shared_data / "vectors"
    found = shift(Vectors.load(folder / "en.glove840b300.npy"), Vectors.load(folder / "en.spacymd300.npy"))
    first = {each.item: each for each in found.items[:60]}
    # Coins or a politician; German or an institute; food or a football club.
    assert {"pence", "mit", "ham"} <= set(first)
    assert "cents" in first["pence"].lost and "trump" in first["pence"].gained
    months = [each.z for each in found.items if each.item in ("january", "march", "october", "november")]
    assert max(months) < 3
