from . import aligners as aligners
from . import cluster as cluster
from . import datasets as datasets
from . import evaluate as evaluate
from . import experiments as experiments
from . import explore as explore
from . import io as io
from . import migrate as migrate
from . import preprocess as preprocess
from . import report as report
from . import reproduce as reproduce
from . import retrieve as retrieve
from . import tasks as tasks
from ._align import align as align
from ._alignment import Alignment as Alignment
from ._alignment import Translation as Translation
from ._hub import Hub as Hub
from ._hub import align_many as align_many
from ._progress_bar import ProgressBar as ProgressBar
from .aligners import (
    CCA as CCA,
)
from .aligners import (
    DLV as DLV,
)
from .aligners import (
    FIPP as FIPP,
)
from .aligners import (
    ICP as ICP,
)
from .aligners import (
    MUSE as MUSE,
)
from .aligners import (
    PLS as PLS,
)
from .aligners import (
    RCSLS as RCSLS,
)
from .aligners import (
    Auto as Auto,
)
from .aligners import (
    BootstrapProcrustes as BootstrapProcrustes,
)
from .aligners import (
    GromovWasserstein as GromovWasserstein,
)
from .aligners import (
    KernelRidge as KernelRidge,
)
from .aligners import (
    Local as Local,
)
from .aligners import (
    LowRank as LowRank,
)
from .aligners import (
    Procrustes as Procrustes,
)
from .aligners import (
    Ranking as Ranking,
)
from .aligners import (
    ResidualMLP as ResidualMLP,
)
from .aligners import (
    Ridge as Ridge,
)
from .aligners import (
    SelfLearning as SelfLearning,
)
from .aligners import (
    Spectral as Spectral,
)
from .aligners import (
    Unsupervised as Unsupervised,
)
from .aligners import (
    VecMap as VecMap,
)
from .evaluate import BLIResult as BLIResult
from .exceptions import FippError as FippError
from .exceptions import FippWarning as FippWarning
from .experiments import compare as compare
from .experiments import tune as tune
from .io import Lexicon as Lexicon
from .io import Vectors as Vectors
from .linalg import pip_distance as pip_distance
from .linalg import use_device as use_device

__version__: str
