"""The command as a whole: help, version, and how quickly it answers."""

import subprocess
import sys

import pytest
from cli_space import command_line, environment

import fipp

COMMANDS = [
    "align", "tune", "methods", "compare", "eval", "explore", "translate", "transform", "convert", "info", "similarity",
    "analogies",
    "download", "demo",
]  # fmt: skip


def test_the_version_is_that_of_the_package(run):
    assert run("--version").stdout == f"fipp {fipp.__version__}\n"


def test_without_arguments_the_help_is_shown(run):
    assert "Usage" in run().output


@pytest.mark.parametrize("command", [*COMMANDS, "lexicon", "reproduce"])
def test_every_command_explains_itself_with_an_example(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"Example: fipp {command}" in " ".join(result.stdout.split())


def test_the_help_names_every_command(run):
    assert all(command in run("--help").stdout for command in COMMANDS)


@pytest.mark.parametrize("command", [[], ["align"], ["lexicon"], ["lexicon", "cldr"], ["reproduce", "xling"]])
def test_options_without_a_value_are_shown_without_a_type(run, command):
    shown = run(*command, "--help").stdout
    assert "--help" in shown and "<bool>" not in shown and "BOOLEAN" not in shown


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        (["align"], "align [OPTIONS] SRC TGT"),
        (["translate"], "translate [OPTIONS] MODEL SRC TGT [WORD]..."),
        (["methods"], "methods [OPTIONS] [NAME]"),
        (["similarity"], "similarity [OPTIONS] VECTORS FILE..."),
    ],
)
def test_arguments_are_shown_by_their_names_alone(run, command, usage):
    shown = run(*command, "--help").stdout
    assert usage in " ".join(shown.split())
    assert "<path>" not in shown and "<str>" not in shown and "<list[" not in shown


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("fipp trans", {"transform", "translate"}),
        ("fipp migrate s", {"sample", "status", "switch"}),
        ("fipp hub --lim", {"--limit"}),
        ("fipp align --method proc", {"procrustes", "proc-b"}),
        ("fipp eval --retrieval c", {"csls"}),
    ],
)
def test_the_shell_completes_commands_options_methods_and_retrievals(typed, expected):
    asked = {"_FIPP_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    result = subprocess.run(command_line(), capture_output=True, text=True, env={**environment(), **asked})
    assert set(result.stdout.split()) == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_every_shell_has_a_completion_script(shell):
    # --show-completion asks which shell started it; this is what it then does for each shell.
    asked = {"_FIPP_COMPLETE": f"source_{shell}"}
    result = subprocess.run(command_line(), capture_output=True, text=True, env={**environment(), **asked})
    assert result.returncode == 0 and "_FIPP_COMPLETE" in result.stdout


def test_python_m_fipp_is_the_command(execute):
    assert execute("--version").stdout == f"fipp {fipp.__version__}\n"


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["align", "--help"], ["align"]])
def test_help_answers_without_loading_numpy(arguments):
    program = (
        "import sys\n"
        "from fipp.cli import main\n"
        f"sys.argv[1:] = {arguments}\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    pass\n"
        "sys.exit(bool({'numpy', 'scipy', 'sklearn'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0


def test_everything_the_package_promises_is_there():
    assert {name for name in fipp.__all__ if not hasattr(fipp, name)} == set()
    assert set(fipp.__all__) <= set(dir(fipp))


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match="attribute nothing"):
        fipp.nothing  # noqa: B018
