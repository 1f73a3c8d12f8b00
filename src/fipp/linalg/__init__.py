"""The numerical core. Arrays in, arrays out."""

from fipp._progress import Progress
from fipp.linalg._gram import (
    FilteredGram,
    GramTiles,
    filtered_gram,
    is_kept,
    residual_weights,
    target_share,
    transfer_weight,
)
from fipp.linalg._moments import (
    affine,
    cross_products,
    map_rows,
    matmul_blocks,
    mean_and_scatter,
    row_blocks,
    unit_rows,
)
from fipp.linalg._network import LOSSES, ResidualNetwork, Training
from fipp.linalg._parallel import (
    n_threads,
    one_torch_thread,
    ordered_map,
    parse_memory,
    rows_per_block,
    single_threaded_blas,
)
from fipp.linalg._rotation import deviation_from_orthogonal, pip_distance, rotation
from fipp.linalg._solve import (
    FilteredObjective,
    Objective,
    ThinFactors,
    descend,
    filtered_product,
    positive_part,
    positive_root,
    target_gram_eigen,
    thin_svd,
)
from fipp.linalg._spectral import SeedMoments, SpectralMaps, seed_moments, spectral_maps

__all__ = [
    "LOSSES",
    "FilteredGram",
    "FilteredObjective",
    "GramTiles",
    "Objective",
    "Progress",
    "ResidualNetwork",
    "SeedMoments",
    "SpectralMaps",
    "ThinFactors",
    "Training",
    "affine",
    "cross_products",
    "descend",
    "deviation_from_orthogonal",
    "filtered_gram",
    "filtered_product",
    "is_kept",
    "map_rows",
    "matmul_blocks",
    "mean_and_scatter",
    "n_threads",
    "one_torch_thread",
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
    "single_threaded_blas",
    "spectral_maps",
    "target_gram_eigen",
    "target_share",
    "thin_svd",
    "transfer_weight",
    "unit_rows",
]
