"""The numerical core. Arrays in, arrays out."""

from fipp.linalg._descent import FilteredObjective, Objective, descend
from fipp.linalg._factor import filtered_product, positive_part, positive_root, target_gram_eigen, thin_svd
from fipp.linalg._gram import FilteredGram, GramTiles, filtered_gram, residual_weights, target_share
from fipp.linalg._memory import parse_memory, rows_per_block
from fipp.linalg._moments import affine, cross_products, matmul_blocks, mean_and_scatter, row_blocks, unit_rows
from fipp.linalg._parallel import Progress, n_threads, ordered_map, single_threaded_blas
from fipp.linalg._procrustes import deviation_from_orthogonal, pip_distance, rotation
from fipp.linalg._spectral import (
    SeedMoments,
    SpectralMaps,
    covariance_power,
    seed_moments,
    shared_directions,
    spectral_maps,
)

__all__ = [
    "FilteredGram",
    "FilteredObjective",
    "GramTiles",
    "Objective",
    "Progress",
    "SeedMoments",
    "SpectralMaps",
    "affine",
    "covariance_power",
    "cross_products",
    "descend",
    "deviation_from_orthogonal",
    "filtered_gram",
    "filtered_product",
    "matmul_blocks",
    "mean_and_scatter",
    "n_threads",
    "ordered_map",
    "parse_memory",
    "pip_distance",
    "positive_part",
    "positive_root",
    "residual_weights",
    "rotation",
    "row_blocks",
    "rows_per_block",
    "seed_moments",
    "shared_directions",
    "single_threaded_blas",
    "spectral_maps",
    "target_gram_eigen",
    "target_share",
    "thin_svd",
    "unit_rows",
]
