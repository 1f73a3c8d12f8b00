"""Data to try things on."""

from fipp.datasets._demo import Demo, load_demo

__all__ = ["Demo", "load_demo"]
