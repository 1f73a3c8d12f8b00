"""From one embedding model to another: whether converting vectors can replace embedding everything again."""

from fipp.migrate._forecast import Estimate
from fipp.migrate._probe import Cluster, Probe, Way, probe
from fipp.migrate._sample import PairedSample

__all__ = ["Cluster", "Estimate", "PairedSample", "Probe", "Way", "probe"]
