"""`fipp downstream`: what alignments are good for. One module for each task."""

from __future__ import annotations

import typer

from fipp.cli._downstream import _documents, _inference, _words

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Try methods of alignment on the tasks of the paper's section 5.2: documents, inference, word similarity.",
    epilog=_documents.EXAMPLE,
)

for _name, _module in {"documents": _documents, "inference": _inference, "words": _words}.items():
    app.command(_name, epilog=_module.EXAMPLE)(_module.command)
