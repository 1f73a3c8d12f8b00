"""Data to try things on, and public data sets to download."""

from fipp.datasets._demo import Demo, load_demo
from fipp.datasets._download import download
from fipp.datasets._registry import FAMILIES as FAMILIES
from fipp.datasets._registry import DataSet, RemoteFile, find_data_set

__all__ = ["DataSet", "Demo", "RemoteFile", "download", "find_data_set", "load_demo"]
