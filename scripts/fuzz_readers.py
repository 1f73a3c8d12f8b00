"""Search for bytes that make a reader fail in another way than with a FippError, guided by coverage.

    python scripts/fuzz_readers.py [--format npz] [--seconds 60] [--memory 2048]

Needs atheris (pip install atheris). Starts from the small whole files that the tests use, one format after the other,
and gives each an equal share of the time. A finding is printed with its traceback, and its input is kept in the folder
``fuzz-findings``: one byte that tells which file of a folder it replaces, then the file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "io"))

from io_samples import SAMPLES, WORDS

FINDINGS = Path("fuzz-findings")


def main() -> int:
    """Fuzz one format after the other, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", choices=sorted(SAMPLES), action="append", help="only these; all of them otherwise")
    parser.add_argument("--seconds", type=int, default=60, help="the time for all formats together (default 60)")
    parser.add_argument("--memory", type=int, default=2048, help="megabytes that a reader may take (default 2048)")
    parser.add_argument("--run", metavar="FORMAT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        return fuzz(options.run, options.seconds, options.memory)
    try:
        import atheris  # noqa: F401
    except ImportError:
        print("this script needs atheris: pip install atheris", file=sys.stderr)
        return 2
    formats = options.format or sorted(SAMPLES)
    share = max(1, options.seconds // len(formats))
    failed = []
    for name in formats:
        print(f"== {name}, {share} s", flush=True)
        # One process each: the fuzzer ends its process, and a crash must not end the others.
        command = [sys.executable, __file__, "--run", name, "--seconds", str(share), "--memory", str(options.memory)]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    print(f"findings in: {', '.join(failed)}" if failed else f"nothing found in {', '.join(formats)}")
    return 1 if failed else 0


def fuzz(name: str, seconds: int, memory: int) -> int:
    """Fuzz one format; the fuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["fipp.io"]):
        import fipp.io  # noqa: F401
        from fipp.exceptions import FippError
        from fipp.io import Vectors

    warnings.simplefilter("ignore")
    FINDINGS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        sample = SAMPLES[name](Path(folder))
        files = sorted(file for file in sample.rglob("*") if file.is_file()) if sample.is_dir() else [sample]
        contents = [file.read_bytes() for file in files]
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        for number, content in enumerate(contents):
            (corpus / str(number)).write_bytes(bytes([number]) + content)

        def load(data: bytes) -> None:
            """Replace the file that the first byte names by the other bytes, and read."""
            chosen = data[0] % len(files) if data else 0
            for number, (file, content) in enumerate(zip(files, contents, strict=True)):
                file.write_bytes(data[1:] if number == chosen else content)
            with suppress(FippError):
                Vectors.load(sample, words=WORDS, max_bytes=1 << 24)

        arguments = [
            sys.argv[0],
            str(corpus),
            f"-max_total_time={seconds}",
            f"-rss_limit_mb={memory}",
            "-timeout=20",
            "-max_len=65536",
            f"-artifact_prefix={FINDINGS}/{name}-",
            "-verbosity=0",
        ]
        atheris.Setup(arguments, load)
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
