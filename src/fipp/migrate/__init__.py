"""From one embedding model to another: whether converting vectors can replace embedding again, and the map."""

from fipp.migrate._fingerprint import Fingerprint
from fipp.migrate._forecast import Estimate
from fipp.migrate._migration import MIGRATION, Migration
from fipp.migrate._probe import Cluster, Probe, Way, probe
from fipp.migrate._sample import PairedSample

# The names that are not listed here are for other rooms of fipp.
__all__ = ["Cluster", "Estimate", "Fingerprint", "Migration", "PairedSample", "Probe", "Way", "probe"]
