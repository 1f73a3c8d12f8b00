"""The command `fipp` and its subcommands, and what a person sees when one fails: one line, never a traceback.

Defects of fipp itself keep their traceback.
"""

from __future__ import annotations

import io
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

from fipp._printable import printable
from fipp._version import __version__
from fipp.cli import (
    _align,
    _console,
    _demo,
    _evaluate,
    _explore,
    _hub,
    _lexicon,
    _methods,
    _migrate,
    _migrate_data,
    _report,
    _reproduce,
    _shift,
    _vectors,
    _words,
)
from fipp.exceptions import FippError, FippWarning

MISTAKE = 2
"""Exit code if something is wrong with what the user gave."""

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as in shells. SIGTERM and SIGHUP have theirs in the same way: 143 and 129."""


class Terminated(BaseException):
    """The process was asked to end by a signal: like Ctrl-C, this must not leave half-written files behind."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


@contextmanager
def readable_failures() -> Iterator[None]:
    """Turn failures into a line on standard error and an exit code, and warnings into lines."""
    _console.written.clear()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", FippWarning)
            warnings.showwarning = _show_warning
            yield
    except KeyboardInterrupt:
        written = ", ".join(map(str, _console.written))
        _console.say(f"interrupted; {written or 'nothing'} was written")
        raise typer.Exit(INTERRUPTED) from None
    except Terminated as end:
        written = ", ".join(map(str, _console.written))
        with suppress(OSError):  # nobody may be there to read it
            _console.say(f"terminated; {written or 'nothing'} was written")
        raise typer.Exit(end.exit_code) from None
    except BrokenPipeError:
        raise  # `fipp … | head` is no mistake; typer ends quietly
    except Exception as error:
        message = _message(error)
        if message is None:
            raise
        _console.say(f"error: {message}", style="bold red")
        raise typer.Exit(MISTAKE) from None


def _message(error: Exception) -> str | None:
    """Return what went wrong, or None if the user cannot have caused it."""
    if isinstance(error, OSError):
        name = "" if error.filename is None else f"{error.filename}: "
        return f"{name}{error.strerror or error}"
    if isinstance(error, UnicodeDecodeError):
        return f"this is not UTF-8 text: {error.reason} at byte {error.start}"
    if isinstance(error, MemoryError):
        return f"not enough memory{f' ({error})' if str(error) else ''}: read fewer words with --limit"
    if isinstance(error, FippError) or _is_of_a_setting(error):
        return " ".join(str(error).split())
    return None


def _is_of_a_setting(error: Exception) -> bool:
    # Looked up, not imported: scikit-learn takes a second to load, and `fipp align --help` comes through here too.
    validation = sys.modules.get("sklearn.utils._param_validation")
    return validation is not None and isinstance(error, validation.InvalidParameterError)


def _show_warning(message: Warning | str, *where: Any, **options: Any) -> None:
    _console.warn(" ".join(str(message).split()))


class _PlainHelp:
    """Shows arguments by name alone (``SRC``, not ``{SRC}  <path>``), and options that take no value without a type."""

    def get_params(self, ctx: Any) -> Any:  # typer has changed the type of a context before
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if param.param_type_name == "argument":
                param.display_type = lambda ctx: ""
                param.get_usage_pieces = partial(_usage, param)
            elif getattr(param, "is_flag", False):
                param.metavar = ""
        return params


def _usage(argument: Any, ctx: Any) -> list[str]:
    name = argument.metavar or argument.name.upper()
    return [(name if argument.required else f"[{name}]") + ("..." if argument.nargs != 1 else "")]


class _Command(_PlainHelp, TyperCommand):
    pass


class _Group(_PlainHelp, TyperGroup):
    pass


class _Main(_Group):
    """The group of all commands, which all fail in the same readable way."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _harmless_usage_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with readable_failures(), _harmless_usage_errors():
            return super().invoke(ctx)


@contextmanager
def _harmless_usage_errors() -> Iterator[None]:
    """Make the messages of typer harmless: a wrong argument may be the name of a file that a shell filled in."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):  # an error of click, or of typer's own copy of it
            message = printable(error.format_message())
            error.format_message = lambda: message
        raise


def _group(cls: type[TyperGroup], help: str | None = None, example: str | None = None) -> typer.Typer:
    # The main group adds --install-completion and --show-completion.
    return typer.Typer(
        cls=cls,
        help=help,
        epilog=example and f"Example: [bold]{example}[/bold]",
        no_args_is_help=True,
        add_completion=cls is _Main,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _add(group: typer.Typer, examples: Mapping[str, Callable[..., None]], panel: str | None = None) -> None:
    """Add commands, each by an example of its use, which ends its help."""
    for example, command in examples.items():
        words = example.split()
        name = words[2] if words[1] in ("lexicon", "migrate", "reproduce") else words[1]
        # Without the line breaks of the source, a paragraph fits any terminal.
        paragraphs = (" ".join(text.split()) for text in (command.__doc__ or "").split("\n\n"))
        group.command(
            name,
            cls=_Command,
            help="\n\n".join(paragraphs),
            epilog=f"Example: [bold]{example}[/bold]",
            rich_help_panel=panel,
        )(command)


app = _group(_Main)
lexicon = _group(
    _Group,
    "Check, split and reverse dictionaries, or make one if you have none.",
    "fipp lexicon cldr en fr -o seed.tsv",
)
migrate = _group(
    _Group,
    "Change the embedding model: find out whether converting vectors can replace embedding everything again.",
    "fipp migrate probe old.parquet new.parquet --queries queries.parquet --size 40000000",
)
reproduce = _group(
    _Group,
    "Repeat the experiments of the paper, with its figures beside ours.",
    "fipp reproduce xling vectors/ dictionaries/ --sizes 1k -o xling.md",
)

_add(
    app,
    {
        "fipp align en.vec fr.vec --dict seed.tsv -o en-fr.fipp": _align.align,
        "fipp eval en-fr.fipp en.vec fr.vec --test test.tsv --retrieval csls --against older.fipp": _evaluate.evaluate,
        "fipp translate en-fr.fipp en.vec fr.vec house water -k 3 --retrieval csls": _evaluate.translate,
        "fipp explore en-fr.fipp en.vec fr.vec --test test.tsv": _explore.explore,
        "fipp report en-fr.fipp en.vec fr.vec --test test.tsv -o report.html": _report.report,
        "fipp plot map en-fr.fipp en.vec fr.vec --test test.tsv -o map.pdf": _report.plot,
        "fipp induce en-fr.fipp en.vec fr.vec -o found.tsv --precision 0.9": _evaluate.induce,
        "fipp transform en-fr.fipp en.vec -o en-shared.npy": _vectors.transform,
        "fipp hub en=en.vec fr=fr.vec fi=fi.vec --dict en-fr=en-fr.tsv --dict en-fi=en-fi.tsv -o shared/": _hub.hub,
        "fipp demo --output /tmp/demo": _demo.demo,
    },
    "Align and use the result",
)
_add(
    app,
    {
        "fipp methods fipp": _methods.methods,
        "fipp tune en.vec fr.vec --dict seed.tsv --grid epsilon=0.05,0.1 -o en-fr.fipp": _methods.tune,
        "fipp compare en.vec fr.vec --dict seed.tsv --test test.tsv --results compared.jsonl": _methods.compare,
    },
    "Choose and compare methods",
)
_add(
    app,
    {
        "fipp info en.vec --limit 50000": _vectors.info,
        "fipp convert wiki.en.vec.gz -o en.npy --limit 200000": _vectors.convert,
        "fipp similarity en.vec simlex999.tsv wordsim353.tsv --model en-fr.fipp": _words.similarity,
        "fipp analogies en.vec questions-words.txt --method 3cosmul --model en-fr.fipp": _words.analogies,
        "fipp shift news-1990.vec news-2020.vec -n 30": _shift.shift,
        "fipp download xling:en-hr fasttext:en fasttext:hr -o data": _vectors.download,
    },
    "Vectors and data",
)
_add(
    lexicon,
    {
        "fipp lexicon check en-fr.tsv en.vec fr.vec -o found.tsv": _lexicon.check,
        "fipp lexicon suspects en-fr.tsv en.vec fr.vec -o suspects.tsv": _lexicon.suspects,
        "fipp lexicon split en-fr.tsv -o seed.tsv --rest test.tsv --size 0.8": _lexicon.split,
        "fipp lexicon reverse en-fr.tsv -o fr-en.tsv": _lexicon.reverse,
        "fipp lexicon identical en.vec fr.vec -o seed.tsv --min-length 5": _lexicon.identical,
        "fipp lexicon numerals en.vec ar.vec -o seed.tsv": _lexicon.numerals,
        "fipp lexicon cognates en.vec ru.vec -o seed.tsv --max-distance 0.2": _lexicon.cognates,
        "fipp lexicon cldr en fr -o seed.tsv": _lexicon.cldr,
    },
)
_add(
    migrate,
    {
        "fipp migrate probe old.parquet new.parquet --queries queries.parquet --size 40000000": _migrate.probe,
        "fipp migrate plot curve old.parquet new.parquet -o curve.pdf": _migrate.plot,
        "fipp migrate fit old.parquet new.parquet --direction documents --old-name ada-002 --new-name e5-large "
        "-o ada-e5.fipp": _migrate.fit,
        "fipp migrate export ada-e5.fipp -o adapter.onnx": _migrate.export,
    },
)
_add(
    migrate,
    {
        "fipp migrate demo old/": _migrate_data.demo,
        "fipp migrate sample 'old/*.parquet' -n 2000 -o sample/": _migrate_data.sample,
        "fipp migrate convert v1-v2.fipp 'old/*.parquet' new/": _migrate_data.convert,
        "fipp migrate status new/ --json": _migrate_data.status,
        "fipp migrate resume new/": _migrate_data.resume,
        "fipp migrate verify new/ --native new-sample.parquet": _migrate_data.verify,
        "fipp migrate switch new/ current": _migrate_data.switch,
        "fipp migrate rollback new/": _migrate_data.rollback,
    },
    "Move the data",
)
_add(
    reproduce,
    {
        "fipp reproduce xling vectors/ dictionaries/ --sizes 1k --results xling.jsonl -o xling.md": _reproduce.xling,
        "fipp reproduce documents en.vec fr.vec ted-cldc/ --pair en-fr --dict seed.tsv": _reproduce.documents,
        "fipp reproduce inference en.vec fr.vec --dict seed.tsv --train multinli_1.0_train.jsonl "
        "--test xnli.test.tsv --language fr": _reproduce.inference,
        "fipp reproduce words en.vec fr.vec --dict seed.tsv --source-set simlex999.tsv": _reproduce.words,
    },
)
app.add_typer(migrate, name="migrate", rich_help_panel="Align and use the result")
app.add_typer(lexicon, name="lexicon", rich_help_panel="Vectors and data")
app.add_typer(reproduce, name="reproduce", rich_help_panel="Choose and compare methods")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fipp {__version__}")
        raise typer.Exit


@app.callback(epilog="Start with [bold]fipp demo[/bold]: it needs no data and no network, and takes about a minute.")
def _fipp(
    version: Annotated[
        bool, Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Align two embedding spaces from a few known pairs, and measure how well it worked.

    Results go to standard output; notes, warnings and progress go to standard error.

    Exit codes: 0 for success, 1 if nobody reads the output any more, 2 for a mistake in the command or its files, or a
    full disk, 130 after Ctrl-C, 143 after SIGTERM.
    """


def main() -> None:
    """Run the command line: the entry point of ``fipp``."""
    # Escape characters that the terminal's encoding does not have instead of failing.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # `nohup` ignores it
            signal.signal(number, _terminate)
    app(prog_name="fipp")


def _terminate(number: int, frame: object) -> None:
    raise Terminated(number)
