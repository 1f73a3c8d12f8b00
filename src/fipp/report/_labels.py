"""Where to put the labels of points in a picture so that they can be read.

adjustText was tried: it imports pyplot, stops by the clock, so that the same picture may differ from run to run, and
does not report which labels are still covered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Directions of a label from its point, the most usual first, and its distances, in pixels of 100 dpi.
_ANGLES = np.deg2rad([0, 180, 90, 270, 45, 135, 315, 225, 20, 160, 340, 200])
_DISTANCES = (6.0, 11.0, 17.0)
_PASSES = 6
_POINT = 3.5

# The costs of what a label covers. A well-placed label costs less than 1.
_ON_A_LABEL, _OUTSIDE, _ON_A_POINT, _FAR, _UNUSUAL = 60.0, 60.0, 15.0, 0.02, 0.02


def place_labels(points: Floats, sizes: Floats, frame: Floats, *, scale: float = 1.0) -> tuple[Floats, Floats]:
    """Return the centres of the labels, and the share of each that lies on other labels or points or outside the frame.

    Each label in turn moves to the best of some places around its point, given where the others are. A few passes
    settle it. Nothing is random. All lengths are in pixels; ``frame`` is left, bottom, right and top, and ``scale`` the
    number of pixels per pixel of 100 dpi.
    """
    candidates = _candidates(points, sizes, scale)
    dots = np.concatenate([points - _POINT * scale, points + _POINT * scale], axis=1)
    fixed = np.stack([_fixed_costs(candidates[i], i, dots, frame) for i in range(len(points))])
    chosen = np.argmin(fixed, axis=1)
    for _ in range(_PASSES):
        for i in range(len(points)):
            others = np.delete(candidates[np.arange(len(points)), chosen], i, axis=0)
            chosen[i] = np.argmin(fixed[i] + _ON_A_LABEL * _shares(candidates[i], others))
    boxes = candidates[np.arange(len(points)), chosen]
    around = [np.concatenate([np.delete(boxes, i, axis=0), np.delete(dots, i, axis=0)]) for i in range(len(points))]
    covered = np.array([_shares(boxes[i : i + 1], around[i])[0] for i in range(len(points))]) + _outside(boxes, frame)
    return (boxes[:, :2] + boxes[:, 2:]) / 2, covered


def _candidates(points: Floats, sizes: Floats, scale: float) -> Floats:
    """Return the boxes (left, bottom, right, top) in which each label could stand, of shape (n, places, 4)."""
    directions = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)
    half = sizes[:, None, None, :] / 2
    gaps = np.array(_DISTANCES)[None, None, :, None] * scale
    centres = points[:, None, None, :] + directions[None, :, None, :] * (half + gaps)
    boxes = np.concatenate([centres - half, centres + half], axis=-1)
    return boxes.reshape(len(points), -1, 4)


def _fixed_costs(boxes: Floats, i: int, dots: Floats, frame: Floats) -> Floats:
    """Return the costs of the places of label ``i`` that do not depend on other labels."""
    places = np.arange(len(boxes))
    usual = _FAR * (places % len(_DISTANCES)) + _UNUSUAL * (places // len(_DISTANCES)) / len(_ANGLES)
    on_points = _shares(boxes, np.delete(dots, i, axis=0))
    costs: Floats = usual + _ON_A_POINT * on_points + _OUTSIDE * _outside(boxes, frame)
    return costs


def _shares(boxes: Floats, others: Floats) -> Floats:
    """Return the share of each box that the others cover."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    covered = np.prod(np.maximum(high - low, 0), axis=2).sum(axis=1)
    return covered / np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)


def _outside(boxes: Floats, frame: Floats) -> Floats:
    outside: Floats = 1 - _shares(boxes, frame[None])
    return outside
