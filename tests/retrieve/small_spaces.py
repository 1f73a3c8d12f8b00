"""Small spaces for the search, in which everything that is special is common, and the memory that a search takes."""

import tracemalloc

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays


@st.composite
def spaces(draw):
    """Two small sets of small whole numbers: ties, copies, multiples and rows of zeros are common."""
    d = draw(st.integers(1, 20))
    values = st.integers(-2, 2)
    queries = draw(arrays(np.int8, (draw(st.integers(1, 7)), d), elements=values))
    keys = draw(arrays(np.int8, (draw(st.integers(1, 12)), d), elements=values))
    copies = draw(st.lists(st.integers(0, len(keys) - 1), max_size=6))
    return queries, np.concatenate([keys, keys[copies]])


def with_peak_memory(work):
    """Return what the work returns, and the bytes that it took at its peak."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
