"""Try to break what fipp writes: kill it anywhere, let writers and readers meet, let the disk be full.

    python scripts/break_writers.py [--rounds 3000] [--signals 60] [--seed 0] [--record]

1. Savers of every format are killed before every line of the code that writes.
2. Two writers and two readers of one pair x.npy and x.txt work at the same time.
3. Every command that writes gets SIGINT, SIGTERM or SIGKILL at a random time. Afterwards its old files must be there as
   they were, or whole new ones, and the next run must succeed and leave nothing else.
4. Every such command writes to a file system that is too small, if this process may mount one.

The counts are printed, and with --record kept in docs/security/counts.json. The exit code is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "cli"))

from _counts import record
from cli_space import Space, command_line, environment, make_space
from writing_commands import Command, commands, prepare

from fipp import Alignment, Lexicon, Vectors
from fipp.exceptions import FippError

TESTS = Path(__file__).resolve().parents[1] / "tests"
FORMATS = ("x.npy", "x.vec", "x.vec.gz", "x.bin", "x.npz", "x.safetensors", "x.parquet", "x.arrow")
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}
FULL = "the disk is full"


def main() -> int:
    """Run all parts and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3000, help="saves of each writer of the pair (default 3000)")
    parser.add_argument("--signals", type=int, default=60, help="signals to commands (default 60)")
    parser.add_argument("--seed", type=int, default=0, help="of the random times (default 0)")
    parser.add_argument("--record", action="store_true", help="keep the counts in docs/security/counts.json")
    options = parser.parse_args()
    counts = {"kills at every line": kills_at_every_line(), "writers and readers": trial("race", options.rounds)}
    with tempfile.TemporaryDirectory() as folder:
        space = make_space(Path(folder))
        prepare(space)
        run("align", space.source, space.target, "--dict", space.seed, "--method", "fipp", "-o", space.model)
        counts["signals to commands"] = signals_to_commands(space, options.signals, random.Random(options.seed))
        counts["full disk"] = full_disk(space)
    print(json.dumps(counts, indent=1))
    if options.record:
        record("writers", counts)
    return int(any(part["failures"] for part in counts.values()))


def trial(*arguments: object) -> dict[str, int]:
    """Run a trial of ``tests/io/writer_trials.py`` in a process of its own."""
    command = [sys.executable, str(TESTS / "io" / "writer_trials.py"), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment(), text=True, check=True)
    return dict(json.loads(done.stdout))


def kills_at_every_line() -> dict[str, int]:
    """Kill writers of every format, and add up."""
    total: Counter[str] = Counter(failures=0)
    for name in FORMATS:
        total.update(trial("lines", name))
    return dict(total)


def start(*arguments: object) -> subprocess.Popen[str]:
    """Start a command that takes Ctrl-C although its parent may not."""
    return subprocess.Popen(
        command_line(*arguments),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def run(*arguments: object) -> tuple[int, str, float]:
    """Run a command to its end; return its exit code, its messages and its seconds."""
    begun = time.monotonic()
    process = start(*arguments)
    messages = process.communicate()[1]
    return process.returncode, messages, time.monotonic() - begun


def signals_to_commands(space: Space, number: int, chance: random.Random) -> dict[str, int]:
    """Send signals at random times to one command after the other, round and round."""
    counts = Counter(dict.fromkeys(("signals", "in time", "failures"), 0))
    chosen = list(commands(space).items())
    seconds: dict[str, float] = {}
    for turn in range(number):
        name, command = chosen[turn % len(chosen)]
        sent = chance.choice(list(SIGNALS))
        empty(space)
        code, messages, seconds[name] = run(*command.arguments)
        assert code == 0, f"{name} fails undisturbed: {messages}"
        old = contents_of(command)
        process = start(*command.arguments)
        # Most of the time goes to imports, so that the second half is where files are written.
        time.sleep(chance.uniform(0.3, 1.05) * seconds[name])
        process.send_signal(sent)
        messages = process.communicate()[1]
        counts["signals"] += 1
        counts["in time"] += process.returncode != 0
        problem = judge(process.returncode, sent, messages) or unlike(command, old) or heal(space, command)
        if problem:
            counts["failures"] += 1
            print(f"{name}, {sent.name}: {problem}", file=sys.stderr)
    return dict(counts)


def judge(code: int, sent: signal.Signals, messages: str) -> str | None:
    """Return what is wrong with how a command ended."""
    # A signal that comes before the command begins, while Python starts, has Python's own answer, the same in a shell.
    if code not in (0, SIGNALS[sent], -sent):
        return f"exit code {code}: {messages}"
    return f"a traceback: {messages}" if "Traceback" in messages and code != -sent else None


def contents_of(command: Command) -> dict[Path, bytes]:
    """Return the bytes of each output."""
    return {path: path.read_bytes() for path in command.outputs}


def unlike(command: Command, old: dict[Path, bytes]) -> str | None:
    """Return which output is damaged: runs repeat themselves, except for seconds, so files are as they were or load."""
    for path, content in old.items():
        if not path.exists():
            return f"{path.name} is gone"
        if path.read_bytes() != content:
            try:
                load(path)
            except (FippError, ValueError) as error:
                return f"{path.name} is damaged: {error}"
    return None


def load(path: Path) -> None:
    """Read a file of any kind that commands write."""
    if path.suffix == ".fipp":
        Alignment.load(path)
    elif path.suffix == ".tsv":
        Lexicon.load(path)
    elif path.suffix == ".jsonl":
        for line in path.read_text().split("\n")[:-1]:  # the last may be cut, and is dropped by the next run
            json.loads(line)
    elif path.suffix not in (".md", ".png"):
        Vectors.load(path, cache=False)


def heal(space: Space, command: Command) -> str | None:
    """Run the command again; return what is wrong afterwards."""
    code, messages, _ = run(*command.arguments)
    left = set(os.listdir(space.folder / "out")) - {path.name for path in command.outputs}
    return f"the next run failed: {messages}" if code else f"litter: {left}" if left else None


def empty(space: Space) -> None:
    """Start with an empty folder for output."""
    shutil.rmtree(space.folder / "out", ignore_errors=True)
    (space.folder / "out").mkdir()


def full_disk(space: Space) -> dict[str, int | str]:
    """Let every command write to a file system without room: exit code 2, a message, and the old files."""
    counts: Counter[str] = Counter(commands=0, failures=0)
    empty(space)
    out = space.folder / "out"
    small = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(out)]
    if shutil.which("mount") is None or subprocess.run(small, capture_output=True, check=False).returncode:
        return {"skipped": "this process may not mount a file system", "failures": 0}
    try:
        for name, command in commands(space).items():
            for path in out.iterdir():
                path.unlink()
            for path in command.outputs:
                path.write_bytes(b'{"key": "old"}\n' if path.suffix == ".jsonl" else b"old")
            fill = out / "fill"
            with contextlib.suppress(OSError), open(fill, "wb", buffering=0) as file:
                while file.write(b"x" * 512):
                    pass
            before = contents_of(command)
            code, messages, _ = run(*command.arguments)
            counts["commands"] += 1
            left = set(os.listdir(out)) - {path.name for path in command.outputs} - {"fill"}
            # Results may still fit into the last block of their file, so that they begin as they were.
            after = contents_of(command)
            same = all(
                after[path] == old or (path.suffix == ".jsonl" and after[path].startswith(old))
                for path, old in before.items()
            )
            if code != 2 or FULL not in messages or left or not same:
                counts["failures"] += 1
                print(f"{name} on a full disk: exit code {code}, left {left}: {messages}", file=sys.stderr)
    finally:
        subprocess.run(["umount", str(out)], check=True)
    return dict(counts)


if __name__ == "__main__":
    sys.exit(main())
