"""Docstrings for the site: formulas become MathML, which every browser shows without a script."""

import re
import textwrap

from griffe import Extension, Object
from latex2mathml.converter import convert

BLOCK = re.compile(r"^( *)\.\. math:: *(.*(?:\n(?:\1 +\S.*| *$))*)", re.MULTILINE)
INLINE = re.compile(r":math:`([^`]+)`")


def with_formulas(text: str) -> str:
    """Return a docstring whose formulas are MathML."""
    text = BLOCK.sub(lambda found: f"{found[1]}{_mathml(found[2], 'block')}\n\n", text)
    return INLINE.sub(lambda found: _mathml(found[1], "inline"), text)


def _mathml(formula: str, display: str) -> str:
    return convert(" ".join(textwrap.dedent(formula).split()), display=display)


class Formulas(Extension):
    """Convert the formulas of every docstring that is read."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Convert those of one object."""
        if obj.docstring:
            obj.docstring.value = with_formulas(obj.docstring.value)
