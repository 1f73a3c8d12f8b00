"""Names that Unicode's CLDR knows in some hundred languages: a dictionary for people who have none.

Countries, languages, scripts, currencies, months, weekdays, units of measurement and cities come with the package
Babel; the names of emoji, in fourteen languages, with the package emoji. Both are the extra ``fipp[cldr]``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fipp.exceptions import FippError

if TYPE_CHECKING:
    from babel import Locale

_NOT_ONE_WORD = re.compile(r"[\s\d(),;:/&.·\[\]]")
_HYPHENS = re.compile(r"[-‐‑–]")


def _territories(locale: Locale) -> Iterator[tuple[str, str]]:
    return iter(locale.territories.items())


def _languages(locale: Locale) -> Iterator[tuple[str, str]]:
    return iter(locale.languages.items())


def _scripts(locale: Locale) -> Iterator[tuple[str, str]]:
    return iter(locale.scripts.items())


def _currencies(locale: Locale) -> Iterator[tuple[str, str]]:
    from babel.numbers import get_currency_name

    for code, name in locale.currencies.items():
        yield str(code), name
        yield f"{code} one", get_currency_name(str(code), count=1, locale=locale)


def _months(locale: Locale) -> Iterator[tuple[str, str]]:
    return _calendar(locale.months)


def _weekdays(locale: Locale) -> Iterator[tuple[str, str]]:
    return _calendar(locale.days)


def _calendar(names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    # By itself and within a date: Slavic languages have another case there.
    for context in ("stand-alone", "format"):
        for number, name in names[context]["wide"].items():
            yield f"{context} {number}", name


def _units(locale: Locale) -> Iterator[tuple[str, str]]:
    from babel.units import format_unit, get_unit_name

    for unit in sorted(locale.unit_display_names):
        yield unit, get_unit_name(unit, "long", locale) or ""
        try:
            one = format_unit(1, unit, "long", locale=locale)
        except ValueError:  # a unit that this language has a name of, but no pattern
            continue
        yield f"{unit} one", re.sub(r"\d", "", one).strip()


def _cities(locale: Locale) -> Iterator[tuple[str, str]]:
    """Return the cities that time zones are called after.

    A city that a language with Latin letters has no name for is called as the zone is: Europe/Paris.
    """
    from babel.core import get_global

    name = locale.get_display_name(locale) or "?"
    is_latin = unicodedata.name(name[0], "").startswith("LATIN")
    for zone in sorted(get_global("zone_territories")):
        city = locale.time_zones.get(zone, {}).get("city")
        if city or (is_latin and not zone.startswith("Etc/")):
            yield zone, city or zone.rsplit("/", 1)[-1].replace("_", " ")


def _emoji(locale: Locale) -> Iterator[tuple[str, str]]:
    emoji = _module("emoji")
    language = locale.language
    if language not in emoji.LANGUAGES:
        return
    emoji.config.load_language(language)
    for sign, names in emoji.EMOJI_DATA.items():
        if language in names and names["status"] == emoji.STATUS["fully_qualified"]:
            yield sign, names[language].strip(":").replace("_", " ")


KINDS: dict[str, Callable[[Locale], Iterator[tuple[str, str]]]] = {
    "territories": _territories,
    "languages": _languages,
    "scripts": _scripts,
    "months": _months,
    "weekdays": _weekdays,
    "currencies": _currencies,
    "units": _units,
    "cities": _cities,
    "emoji": _emoji,
}
"""What there are names of; each gives a language's names by a key that all languages share."""


def cldr_names(
    source: str, target: str, *, kinds: Iterable[str] | None = None, single_words: bool = True, lower: bool = True
) -> list[tuple[str, str]]:
    """Return the names that CLDR has in both languages; the work of `Lexicon.from_cldr`."""
    wanted = list(KINDS if kinds is None else [kinds] if isinstance(kinds, str) else kinds)
    for kind in wanted:
        if kind not in KINDS:
            raise FippError(f"CLDR names are of {', '.join(KINDS)}; there is no kind {kind!r}")
    left, right = _locale(source), _locale(target)
    pairs: dict[tuple[str, str], None] = {}
    for kind in wanted:
        names = dict(KINDS[kind](right))
        for key, name in KINDS[kind](left):
            pair = (_tidy(name, lower), _tidy(names.get(key, ""), lower))
            if all(pair) and not (single_words and any(map(_is_phrase, pair))):
                pairs.setdefault(pair)
    return list(pairs)


def _tidy(name: str, lower: bool) -> str:
    name = " ".join(name.split())
    return name.lower() if lower else name


def _is_phrase(name: str) -> bool:
    return bool(_NOT_ONE_WORD.search(name) or _HYPHENS.search(name))


def _locale(tag: str) -> Locale:
    babel = _module("babel")
    try:
        locale: Locale = babel.Locale.parse(str(tag).replace("-", "_"))
    except (ValueError, TypeError, babel.UnknownLocaleError) as error:
        raise FippError(
            f"CLDR has no names in the language {tag!r}; it takes codes such as 'en', 'pt-BR' or 'zh-Hant'"
        ) from error
    return locale


def _module(name: str) -> ModuleType:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise FippError(f"names of CLDR need the package {name}: pip install 'fipp[cldr]'") from error
