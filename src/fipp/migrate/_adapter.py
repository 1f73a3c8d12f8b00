"""A map between two embedding models, exported by fipp. It needs numpy, and nothing else.

from adapter import Adapter
adapt = Adapter("adapter.npz")
adapt(vector)  # one vector, or an array with one vector per row
"""

import numpy as np
import numpy.typing as npt


class Adapter:
    """Maps vectors of one embedding model to another, as the migration did that it was exported from."""

    def __init__(self, path: str) -> None:
        with np.load(path, allow_pickle=False) as file:
            self.map, self.offset, self.length = file["map"], file["offset"], file["length"]
            self.landmarks, self.coefficients, self.gamma = file["landmarks"], file["coefficients"], file["gamma"]
        self.linear = self.map if self.map.any() or not len(self.landmarks) else None
        self.squares = np.square(self.landmarks).sum(axis=1) + 1

    def __call__(self, vectors: npt.ArrayLike) -> np.ndarray:
        """Return the mapped vectors; vectors of zeros stay zero."""
        X = np.atleast_2d(np.asarray(vectors, np.float32))
        if X.shape[1] != len(self.map):
            raise ValueError(f"this adapter takes vectors of {len(self.map)} dimensions, not {X.shape[1]}")
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        unit = X / np.where(norms > 0, norms, 1)
        mapped = self.offset if self.linear is None else unit @ self.linear + self.offset
        if len(self.landmarks):
            squared = np.maximum(self.squares - 2 * (unit @ self.landmarks.T), 0)
            mapped = mapped + np.exp(-self.gamma * squared) @ self.coefficients
        lengths = np.linalg.norm(mapped, axis=1, keepdims=True)
        mapped = np.where(norms > 0, mapped * (self.length / np.where(lengths > 0, lengths, 1)), 0)
        return mapped.astype(np.float32).reshape(*np.shape(vectors)[:-1], -1)
