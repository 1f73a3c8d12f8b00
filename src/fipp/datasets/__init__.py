"""Data to try things on, and public data sets to download."""

from fipp.datasets._collection import MadeUpModels, embed_sample, make_collection
from fipp.datasets._demo import Demo, load_demo
from fipp.datasets._download import download
from fipp.datasets._registry import FAMILIES as FAMILIES
from fipp.datasets._registry import DataSet, RemoteFile, find_data_set

# The names that are not listed here are for other rooms of fipp.
__all__ = ["MadeUpModels", "download", "embed_sample", "find_data_set", "load_demo", "make_collection"]
