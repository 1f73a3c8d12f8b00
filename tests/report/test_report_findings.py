"""What a report shows agrees with independent calculations, and its colours can be told apart."""

from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from test_report_alignment import small_space

import fipp
from fipp.report import _canvas
from fipp.report._findings import Findings

# Machado, Oliveira and Fernandes (2009): what those see who lack one of the three kinds of cones, in linear RGB.
SIGHT = {
    "all": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


@pytest.fixture(scope="module")
def findings():
    source, target, seed, test = small_space()
    return Findings(fipp.align(source, target, seed, "fipp"), fipp.Lexicon(test), ("a", "b"))


def unit(X):
    X = np.asarray(X, dtype=np.float64)
    return X / np.linalg.norm(X, axis=1)[:, None]


def spaces(findings):
    """Return the vectors of both sides before and after alignment."""
    alignment = findings.alignment
    return {
        "before": (alignment.source.matrix, alignment.target.matrix),
        "after": (alignment.transform().matrix, alignment.transform_target().matrix),
    }


def test_inner_products_and_spectra_are_those_of_the_seed_words(findings):
    for when, sides in spaces(findings).items():
        for name, matrix, rows in zip(("source", "target"), sides, findings.pairs.T, strict=True):
            gram = unit(matrix[rows]) @ unit(matrix[rows]).T
            values = [gram[i, j] for i in range(len(gram)) for j in range(i)]
            edges = findings.products.edges[when]
            share = np.diff([np.mean(np.array(values) < edge) for edge in edges]) / np.diff(edges)
            np.testing.assert_allclose(findings.products.densities[when][name], share, atol=0.01)
            spectrum = np.sort(np.linalg.eigvalsh(gram))[::-1][: matrix.shape[1]]
            np.testing.assert_allclose(findings.products.spectra[when][name], spectrum / len(gram), atol=1e-5)


def test_hubs_are_counted_by_cosine_and_by_csls(findings):
    source, target = map(unit, spaces(findings)["after"])
    cosines = source @ target.T
    nearest = np.sort(cosines, axis=1)[:, -10:].mean(axis=1), np.sort(cosines, axis=0)[-10:].mean(axis=0)
    for retrieval, scores in (("cosine", cosines), ("csls", 2 * cosines - nearest[0][:, None] - nearest[1])):
        counts = np.bincount(np.argsort(-scores, axis=1)[:, :10].ravel(), minlength=len(target))
        np.testing.assert_array_equal(findings.hubs.counts[retrieval], counts)
        assert findings.hubs.skewness(retrieval) == pytest.approx(scipy.stats.skew(counts))
        assert findings.hubs.never(retrieval) == np.mean(counts == 0)


def test_seed_pairs_are_compared_in_the_shared_space(findings):
    source, target = map(unit, spaces(findings)["after"])
    expected = [source[i] @ target[j] for i, j in findings.pairs.tolist()]
    np.testing.assert_allclose(findings.cosines, expected, atol=1e-6)


def linear(colour):
    channels = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """Return the place of a colour in CIELAB, where distances are how different colours look."""
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    x, y, z = np.cbrt(np.maximum(np.array(to_xyz) @ rgb, 0) / [0.95047, 1.0, 1.08883])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize(
    "names", [("SOURCE", "TARGET", "PAPER"), ("SOURCE", "INK", "MUTED", "PAPER"), ("TARGET", "SOURCE", "LINE", "PAPER")]
)
def test_colours_of_a_figure_can_be_told_apart_with_any_kind_of_sight(sight, names):
    seen = [lab(SIGHT[sight] @ linear(getattr(_canvas, name))) for name in names]
    # Two colours look alike below about 2; 20 is far from that for thin lines and small points, too.
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 20
