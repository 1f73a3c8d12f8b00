"""`python -m fipp` is the command `fipp`."""

from fipp.cli import main

if __name__ == "__main__":
    main()
