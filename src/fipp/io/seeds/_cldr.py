"""Seeds from the names in Unicode's CLDR, which covers some hundred languages.

Countries, languages, scripts, currencies, months, weekdays, units of measurement and cities come from the package
Babel; the names of emoji, in fourteen languages, from the package emoji. The extra ``fipp[cldr]`` installs both.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fipp._optional import require
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from babel import Locale

_NOT_ONE_WORD = re.compile(r"[\s\d(),;:/&.·\[\]]")
_HYPHENS = re.compile(r"[-‐‑–]")


def _currencies(locale: Locale) -> Iterator[tuple[str, str]]:
    get_currency_name = _module("babel.numbers").get_currency_name
    for code, name in locale.currencies.items():
        yield str(code), name
        yield f"{code} one", get_currency_name(str(code), count=1, locale=locale)


def _calendar(names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    # Alone and within a date, where Slavic languages use another case.
    for context in ("stand-alone", "format"):
        for number, name in names[context]["wide"].items():
            yield f"{context} {number}", name


def _units(locale: Locale) -> Iterator[tuple[str, str]]:
    units = _module("babel.units")
    for unit in sorted(locale.unit_display_names):
        yield unit, units.get_unit_name(unit, "long", locale) or ""
        try:
            one = units.format_unit(1, unit, "long", locale=locale)
        except ValueError:  # the language has a name for the unit, but no pattern
            continue
        yield f"{unit} one", re.sub(r"\d", "", one).strip()


def _cities(locale: Locale) -> Iterator[tuple[str, str]]:
    """Yield the cities that time zones are named after.

    A language with Latin letters that has no name for a city uses that of the zone: Europe/Paris.
    """
    name = locale.get_display_name(locale) or "?"
    is_latin = unicodedata.name(name[0], "").startswith("LATIN")
    for zone in sorted(_module("babel.core").get_global("zone_territories")):
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
    "territories": lambda locale: iter(locale.territories.items()),
    "languages": lambda locale: iter(locale.languages.items()),
    "scripts": lambda locale: iter(locale.scripts.items()),
    "months": lambda locale: _calendar(locale.months),
    "weekdays": lambda locale: _calendar(locale.days),
    "currencies": _currencies,
    "units": _units,
    "cities": _cities,
    "emoji": _emoji,
}
"""The kinds of names; each function yields the names in a language, by a key that all languages share."""


def cldr_names(
    source: str, target: str, *, kinds: Iterable[str] | None = None, single_words: bool = True, lower: bool = True
) -> list[tuple[str, str]]:
    """Return the names that CLDR has in both languages; see `Lexicon.from_cldr`."""
    wanted = list(KINDS if kinds is None else [kinds] if isinstance(kinds, str) else kinds)
    for kind in wanted:
        if kind not in KINDS:
            raise FippError(f"there are no CLDR names of the kind {kind!r}; the kinds are {', '.join(KINDS)}")
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


def _module(name: str) -> Any:
    return require(name, "a seed from CLDR", extra="cldr")
