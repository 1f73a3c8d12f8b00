"""The picture of pairs before and after alignment."""

import subprocess
import sys

import numpy as np
import pytest

import fipp
from fipp.report import plot_pairs
from fipp.report._pairs import place_labels


def make_alignment(d1=10, d2=8):
    rng = np.random.default_rng(0)
    target = rng.standard_normal((80, d2))
    source = target @ rng.standard_normal((d2, d1))
    pairs = [(f"$e_{i}", f"f{i}") for i in range(80)]
    sides = (
        fipp.Vectors(words, matrix) for words, matrix in zip(zip(*pairs, strict=True), (source, target), strict=True)
    )
    return fipp.align(*sides, pairs, "fipp"), pairs


@pytest.mark.parametrize("d1", [8, 10])
def test_a_picture_is_written_for_equal_and_for_different_dimensions(tmp_path, d1):
    alignment, pairs = make_alignment(d1)
    plot_pairs(alignment, pairs[:25], tmp_path / "pairs.png", names=("old", "new"))
    contents = (tmp_path / "pairs.png").read_bytes()
    assert contents.startswith(b"\x89PNG") and len(contents) > 20_000
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.png"]


def test_the_same_pairs_give_the_same_bytes(tmp_path):
    alignment, pairs = make_alignment()
    for name in ("a.png", "b.png"):
        plot_pairs(alignment, pairs[:10], tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_unknown_words_are_left_out_and_fewer_than_three_pairs_refused(tmp_path):
    alignment, pairs = make_alignment()
    plot_pairs(alignment, [*pairs[:3], ("nothing", "nowhere")], tmp_path / "pairs.png")
    with pytest.raises(fipp.FippError, match="three pairs at least, not 2"):
        plot_pairs(alignment, [*pairs[:2], ("nothing", "nowhere")], tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()


def test_without_matplotlib_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    alignment, pairs = make_alignment()
    with pytest.raises(fipp.FippError, match=r"pip install 'fipp\[plot\]'"):
        plot_pairs(alignment, pairs[:5], tmp_path / "pairs.png")


def test_pyplot_and_its_backend_are_left_alone(tmp_path):
    program = (
        "import sys\n"
        f"sys.path.insert(0, {str(__file__).rpartition('/')[0]!r})\n"
        "from test_report_pairs import make_alignment, plot_pairs\n"
        "alignment, pairs = make_alignment()\n"
        f"plot_pairs(alignment, pairs[:5], {str(tmp_path / 'pairs.png')!r})\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return max(width, 0) * max(height, 0)


def boxes_of(centres, sizes):
    return [(*(centre - size / 2), *(centre + size / 2)) for centre, size in zip(centres, sizes, strict=True)]


def test_names_that_have_room_cover_nothing():
    rng = np.random.default_rng(0)
    points, sizes = rng.uniform(50, 750, (30, 2)), np.column_stack([rng.uniform(30, 70, 30), np.full(30, 12.0)])
    centres, covered = place_labels(points, sizes, np.array([0.0, 0.0, 800.0, 800.0]))
    boxes = boxes_of(centres, sizes)
    assert covered.max() == 0
    assert sum(overlap(boxes[i], boxes[j]) for i in range(30) for j in range(i)) == 0
    assert all(left >= 0 and right <= 800 and low >= 0 and high <= 800 for left, low, right, high in boxes)


def test_what_is_covered_is_said():
    points, sizes = np.full((40, 2), 100.0), np.full((40, 2), [60.0, 12.0])
    centres, covered = place_labels(points, sizes, np.array([0.0, 0.0, 200.0, 200.0]))
    boxes = boxes_of(centres, sizes)
    crowded = [any(overlap(boxes[i], boxes[j]) > 0 for j in range(40) if j != i) for i in range(40)]
    assert all(share > 0 for share, is_crowded in zip(covered, crowded, strict=True) if is_crowded)
    assert any(crowded)
