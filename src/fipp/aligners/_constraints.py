"""Values that settings of aligners may take, in scikit-learn's terms."""

from __future__ import annotations

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, StrOptions

COUNT = Interval(Integral, 0, None, closed="left")
AT_LEAST_1 = Interval(Integral, 1, None, closed="left")
# Far beyond what any setting needs, and small enough that what it multiplies stays in the range of float32.
LARGEST = 1e12
NOT_NEGATIVE = Interval(Real, 0, LARGEST, closed="both")
POSITIVE = Interval(Real, 0, LARGEST, closed="right")
SHARE = Interval(Real, 0, 1, closed="both")
SHARE_BELOW_1 = Interval(Real, 0, 1, closed="left")
SMALLER_SHARE = Interval(Real, 0, 0.5, closed="right")
"""What may be held out."""
AUTO = StrOptions({"auto"})
MEMORY = [Interval(Real, 0, None, closed="neither"), str, None]
MAX_WORDS = [AT_LEAST_1, None]
