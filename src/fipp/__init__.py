"""fipp brings two embedding spaces together from a few known pairs, and tells you how well it worked."""

import lazy_loader

from fipp._version import __version__ as __version__

# numpy, scipy and scikit-learn take a second or more to load. They are loaded when a name is first asked for, so that
# `fipp --help` answers at once. The names are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
