"""From one embedding model to another: whether converting vectors can replace embedding again, and the map."""

from fipp.migrate._batches import BatchConverter, convert_table
from fipp.migrate._cascade import Cascade, Hit
from fipp.migrate._convert import Conversion, manifest_path
from fipp.migrate._draw import draw, sample_path, write_sample
from fipp.migrate._fingerprint import Fingerprint
from fipp.migrate._folder import VectorFolder, VectorStore
from fipp.migrate._forecast import Estimate
from fipp.migrate._manifest import Manifest
from fipp.migrate._merge import Merged, merge_halves
from fipp.migrate._migration import MIGRATION, Migration
from fipp.migrate._probe import Cluster, Probe, Way, probe
from fipp.migrate._sample import PairedSample
from fipp.migrate._verify import Verification, verify

# The names that are not listed here are for other rooms of fipp.
__all__ = [
    "BatchConverter",
    "Cascade",
    "Cluster",
    "Conversion",
    "Estimate",
    "Fingerprint",
    "Hit",
    "Merged",
    "Migration",
    "PairedSample",
    "Probe",
    "VectorFolder",
    "VectorStore",
    "Verification",
    "Way",
    "draw",
    "merge_halves",
    "probe",
    "verify",
    "write_sample",
]
