"""The numerical core. Arrays in, arrays out."""

from fipp.linalg._descent import FilteredObjective, Objective, descend
from fipp.linalg._factor import filtered_product, positive_part, target_gram_eigen, thin_svd
from fipp.linalg._gram import FilteredGram, GramTiles, filtered_gram, pull
from fipp.linalg._memory import parse_memory, rows_per_block
from fipp.linalg._moments import mean_and_scatter, row_blocks, unit_rows
from fipp.linalg._parallel import Progress, n_threads, ordered_map
from fipp.linalg._procrustes import deviation_from_orthogonal, pip_distance, rotation, weighted_cross

__all__ = [
    "FilteredGram",
    "FilteredObjective",
    "GramTiles",
    "Objective",
    "Progress",
    "descend",
    "deviation_from_orthogonal",
    "filtered_gram",
    "filtered_product",
    "mean_and_scatter",
    "n_threads",
    "ordered_map",
    "parse_memory",
    "pip_distance",
    "positive_part",
    "pull",
    "rotation",
    "row_blocks",
    "rows_per_block",
    "target_gram_eigen",
    "thin_svd",
    "unit_rows",
    "weighted_cross",
]
