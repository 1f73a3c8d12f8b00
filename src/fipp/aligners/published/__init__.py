"""Published methods that FIPP is compared with, one module per system."""
