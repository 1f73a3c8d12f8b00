"""Methods that bring two spaces together, all with the same verbs: ``fit``, ``transform``, ``transform_target``."""

from fipp.aligners._auto import Auto, why_chosen
from fipp.aligners._base import BaseAligner
from fipp.aligners._fipp import FIPP
from fipp.aligners._holdout import held_out_parts, reciprocal_ranks
from fipp.aligners._kernel_ridge import KernelRidge, LeftOut
from fipp.aligners._local import Local
from fipp.aligners._procrustes import Procrustes
from fipp.aligners._ranking import Ranking
from fipp.aligners._regression import LowRank, ResidualMLP, Ridge
from fipp.aligners._self_learning import SelfLearning
from fipp.aligners._spectral import Spectral
from fipp.aligners._state import below, from_model, from_state, register, to_model, to_state
from fipp.aligners._suspects import FEWEST_TO_JUDGE, NOISY, PairCosines, pair_cosines
from fipp.aligners._unsupervised import Unsupervised
from fipp.aligners.published._bootstrap import DLV, BootstrapProcrustes
from fipp.aligners.published._cca import CCA, PLS
from fipp.aligners.published._gwa import GromovWasserstein
from fipp.aligners.published._icp import ICP
from fipp.aligners.published._muse import MUSE
from fipp.aligners.published._rcsls import RCSLS
from fipp.aligners.published._vecmap import VecMap

METHODS: dict[str, BaseAligner] = {
    "fipp": FIPP(),
    "fipp-published": FIPP.published(),
    "procrustes": Procrustes(),
    "proc-b": BootstrapProcrustes(),
    "cca": CCA(),
    "cca-rotation": CCA(0.0, 0.0, whiten=0.0, preprocess=None),
    "pls": PLS(),
    "dlv": DLV(),
    "rcsls": RCSLS(),
    "rcsls-spectral": RCSLS("spectral"),
    "vecmap": VecMap(),
    "vecmap-semi": VecMap("semi-supervised"),
    "vecmap-identical": VecMap("identical"),
    "vecmap-unsupervised": VecMap("unsupervised"),
    "muse": MUSE(),
    "muse-adversarial": MUSE(mode="adversarial", n_iterations=8, max_words=5000),
    "icp": ICP(),
    "gwa": GromovWasserstein(),
    "ridge": Ridge(),
    "kernel-ridge": KernelRidge(),
    "low-rank": LowRank(),
    "mlp": ResidualMLP(),
    "spectral": Spectral(),
    "self-learning": SelfLearning(),
    "local": Local(),
    "ranking": Ranking(),
    "unsupervised": Unsupervised(),
    "auto": Auto(),
}
"""An aligner for each name that `fipp.align` and the command line know; never fitted, only cloned."""

register(*map(type, METHODS.values()))

# The names that are not listed here are for other rooms of fipp.
__all__ = [
    "CCA",
    "DLV",
    "FIPP",
    "ICP",
    "METHODS",
    "MUSE",
    "PLS",
    "RCSLS",
    "Auto",
    "BaseAligner",
    "BootstrapProcrustes",
    "GromovWasserstein",
    "KernelRidge",
    "Local",
    "LowRank",
    "Procrustes",
    "Ranking",
    "ResidualMLP",
    "Ridge",
    "SelfLearning",
    "Spectral",
    "Unsupervised",
    "VecMap",
]
