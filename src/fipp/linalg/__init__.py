"""The numerical core. Arrays in, arrays out."""

from fipp.linalg._device import product, use_device
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
    BLOCK_ROWS,
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
    Machines,
    machines,
    n_threads,
    one_torch_thread,
    ordered_map,
    parse_memory,
    rows_per_block,
    shared_map,
    single_threaded_blas,
    working_on,
)
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
from fipp.linalg._spectral import (
    SeedMoments,
    SpectralMaps,
    covariance_power,
    deviation_from_orthogonal,
    pip_distance,
    rotation,
    seed_moments,
    shared_directions,
    spectral_maps,
)

# The names that are not listed here are for other rooms of fipp.
__all__ = ["pip_distance", "use_device"]
