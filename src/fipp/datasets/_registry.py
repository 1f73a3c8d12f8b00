"""Public data sets: what they are, where they are, under which licence.

Checksums are those that others have published: the MD5 sums of the wiki vectors in babylonhealth/fastText_multilingual,
the SHA-1 sums of the GloVe files in Apache MXNet. They tell a damaged file; against a forged one stands HTTPS.

Licences are those that the publishers name for the data: fastText's pages CC BY-SA 3.0, GloVe's page the PDDL. The
repository of XLING and the page of SimLex-999 name none, which is "unknown" here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations

from fipp.datasets._checksums import GLOVE_SHA1, WIKI_MD5
from fipp.exceptions import FippError

_META = "https://dl.fbaipublicfiles.com"
_XLING = "https://raw.githubusercontent.com/codogogo/xling-eval/master/bli_datasets"
_XLING_FILES = {"train.1k": "train.freq.1k", "train.5k": "train.freq.5k", "test.2k": "test.freq.2k"}

_XLING_DIRECTIONS = (
    "de-fi de-fr de-hr de-it de-ru de-tr en-de en-fi en-fr en-hr en-it en-ru en-tr fi-fr fi-hr fi-it fi-ru "
    "hr-fr hr-it hr-ru it-fr ru-fr ru-it tr-fi tr-fr tr-hr tr-it tr-ru"
)
XLING_PAIRS = tuple(_XLING_DIRECTIONS.split())
"""The 28 pairs of eight languages, in the direction that has files."""

_MUSE_LANGUAGES = (
    "af ar bg bn bs ca cs da de el es et fa fi fr he hi hr hu id it ja ko lt lv mk ms nl no pl pt ro ru sk sl sq sv ta "
    "th tl tr uk vi zh"
)
MUSE_PAIRS = tuple(
    sorted(
        {f"en-{language}" for language in _MUSE_LANGUAGES.split()}
        | {f"{language}-en" for language in _MUSE_LANGUAGES.split()}
        | {f"{source}-{target}" for source, target in permutations(("de", "es", "fr", "it", "pt"), 2)}
    )
)
"""English with 44 languages both ways, and five European languages with each other."""

_GLOVE = {
    "6B": ("glove.6B.zip", 862_000_000, ("50d", "100d", "200d", "300d")),
    "42B": ("glove.42B.300d.zip", 1_880_000_000, ("300d",)),
    "840B": ("glove.840B.300d.zip", 2_180_000_000, ("300d",)),
    "twitter.27B": ("glove.twitter.27B.zip", 1_520_000_000, ("25d", "50d", "100d", "200d")),
}


@dataclass(frozen=True)
class RemoteFile:
    """One file: where it is, and where it goes below the folder of downloads.

    ``checksum`` is that of the file in the end, such as ``"md5:927e…"``. With ``member``, ``url`` is a zip archive and
    the file is that member of it. ``size`` is about what is transferred, in bytes.
    """

    url: str
    path: str
    size: int | None = None
    checksum: str | None = None
    member: str | None = None


@dataclass(frozen=True)
class DataSet:
    """Files that belong together."""

    name: str
    title: str
    licence: str
    homepage: str
    files: tuple[RemoteFile, ...]


@dataclass(frozen=True)
class Family:
    """Data sets of one kind, told apart by what stands behind the colon of their names."""

    name: str
    title: str
    licence: str
    homepage: str
    parameter: str
    """What stands behind the colon, such as ``LANGUAGE``; empty if nothing does."""

    example: str
    files: Callable[[str], Iterator[RemoteFile]]
    choices: tuple[str, ...] = ()
    """What may stand behind the colon; empty if it is a language code that only the server knows."""

    whole: bool = False
    """Whether the bare name stands for all choices."""

    def data_set(self, choice: str) -> DataSet:
        """Return the data set of one choice; of all, if it is empty."""
        name = f"{self.name}:{choice}" if choice else self.name
        chosen = (choice,) if choice or not self.whole else self.choices
        files = tuple(file for each in chosen for file in self.files(each))
        return DataSet(name, self.title, self.licence, self.homepage, files)


def _xling(pair: str) -> Iterator[RemoteFile]:
    for ours, theirs in _XLING_FILES.items():
        yield RemoteFile(f"{_XLING}/{pair}/yacle.{theirs}.{pair}.tsv", f"xling/{pair}/{ours}.tsv")


def _muse(pair: str) -> Iterator[RemoteFile]:
    for part in ("", ".0-5000", ".5000-6500"):
        yield RemoteFile(f"{_META}/arrival/dictionaries/{pair}{part}.txt", f"muse/{pair}{part}.txt")


def _wiki(language: str) -> Iterator[RemoteFile]:
    name = f"wiki.{language}.vec"
    md5 = WIKI_MD5.get(language)
    yield RemoteFile(f"{_META}/fasttext/vectors-wiki/{name}", f"fasttext/{name}", checksum=md5 and f"md5:{md5}")


def _crawl(language: str, kind: str = "vec") -> Iterator[RemoteFile]:
    name = f"cc.{language}.300.{kind}.gz"
    yield RemoteFile(f"{_META}/fasttext/vectors-crawl/{name}", f"fasttext/{name}")


def _glove(choice: str) -> Iterator[RemoteFile]:
    corpus, _, dimension = choice.rpartition(".") if choice.endswith("d") else (choice, "", "")
    archive, size, dimensions = _GLOVE[corpus]
    for each in [dimension] if dimension else dimensions:
        name = f"glove.{corpus}.{each}.txt"
        sha1 = GLOVE_SHA1.get(name)
        yield RemoteFile(
            f"https://nlp.stanford.edu/data/{archive}", f"glove/{name}", size, sha1 and f"sha1:{sha1}", member=name
        )


def _simlex(_: str) -> Iterator[RemoteFile]:
    member = "SimLex-999/SimLex-999.txt"
    yield RemoteFile("https://fh295.github.io/SimLex-999.zip", "similarity/en.SimLex-999.txt", member=member)


def _multinli(_: str) -> Iterator[RemoteFile]:
    for part in ("train", "dev_matched", "dev_mismatched"):
        name = f"multinli_1.0_{part}.jsonl"
        url = "https://cims.nyu.edu/~sbowman/multinli/multinli_1.0.zip"
        yield RemoteFile(url, f"multinli/{name}", 227_000_000, member=f"multinli_1.0/{name}")


def _xnli(_: str) -> Iterator[RemoteFile]:
    for part in ("dev", "test"):
        name = f"xnli.{part}.tsv"
        yield RemoteFile(f"{_META}/XNLI/XNLI-1.0.zip", f"xnli/{name}", 17_900_000, member=f"XNLI-1.0/{name}")


BY_HAND = {
    "ted-cldc": "its page, http://www.clg.ox.ac.uk/tedcldc.html, links to the archive of TED-CLDC, but that is no "
    "protected address. Fetch it there; `fipp reproduce documents` reads the archive as it is",
}
"""Data sets that are not downloaded, and how to get them."""

FAMILIES = {
    family.name: family
    for family in (
        Family(
            "xling",
            "dictionaries of the XLING study: 1,000 and 5,000 training pairs, 2,000 test pairs (Glavaš et al. 2019)",
            "unknown",
            "https://github.com/codogogo/xling-eval",
            "PAIR",
            "xling:en-fr",
            _xling,
            XLING_PAIRS,
            whole=True,
        ),
        Family(
            "muse",
            "MUSE dictionaries: all pairs, the 5,000 words to train and the 1,500 to test (Conneau et al. 2018)",
            "CC BY-NC 4.0, that of the repository; the dictionaries name none",
            "https://github.com/facebookresearch/MUSE",
            "PAIR",
            "muse:en-hr",
            _muse,
            MUSE_PAIRS,
        ),
        Family(
            "fasttext",
            "fastText vectors of Wikipedia, 300 dimensions, as text: those of the XLING study",
            "CC BY-SA 3.0",
            "https://fasttext.cc/docs/en/pretrained-vectors.html",
            "LANGUAGE",
            "fasttext:hr",
            _wiki,
        ),
        Family(
            "fasttext-crawl",
            "fastText vectors of Common Crawl and Wikipedia, 300 dimensions, as compressed text",
            "CC BY-SA 3.0",
            "https://fasttext.cc/docs/en/crawl-vectors.html",
            "LANGUAGE",
            "fasttext-crawl:hr",
            _crawl,
        ),
        Family(
            "fasttext-crawl-bin",
            "the same as compressed models, which have vectors for unseen words too",
            "CC BY-SA 3.0",
            "https://fasttext.cc/docs/en/crawl-vectors.html",
            "LANGUAGE",
            "fasttext-crawl-bin:hr",
            lambda language: _crawl(language, "bin"),
        ),
        Family(
            "glove",
            "GloVe vectors of English: Wikipedia and news (6B), Common Crawl (42B, 840B), Twitter (27B)",
            "PDDL 1.0",
            "https://nlp.stanford.edu/projects/glove/",
            "CORPUS",
            "glove:6B.100d",
            _glove,
            tuple(
                choice
                for corpus, (_, _, dimensions) in _GLOVE.items()
                for choice in (corpus, *(f"{corpus}.{dimension}" for dimension in dimensions))
            ),
        ),
        Family(
            "simlex",
            "SimLex-999: how similar people find 999 pairs of English words (Hill et al. 2015)",
            "unknown",
            "https://fh295.github.io/simlex.html",
            "",
            "simlex",
            _simlex,
        ),
        Family(
            "multinli",
            "MultiNLI 1.0: English sentences and what follows from them, 393,000 pairs to train (Williams et al. 2018)",
            "several, see its paper",
            "https://cims.nyu.edu/~sbowman/multinli/",
            "",
            "multinli",
            _multinli,
        ),
        Family(
            "xnli",
            "XNLI 1.0: the same in 15 languages, 2,490 pairs to choose by and 5,010 to test (Conneau et al. 2018)",
            "CC BY-NC 4.0",
            "https://github.com/facebookresearch/XNLI",
            "",
            "xnli",
            _xnli,
        ),
    )
}

_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][a-z]{1,10})*|simple")


def find_data_set(name: str) -> DataSet:
    """Return the data set of this name.

    Parameters
    ----------
    name : str
        ``"simlex"``, or a family with what is wanted of it, such as ``"fasttext:hr"``, ``"muse:en-hr"``,
        ``"xling:en-fr"``.

    Returns
    -------
    DataSet
        Its files with their addresses, and its licence.

    Raises
    ------
    FippError
        If there is none of this name.

    Examples
    --------
    >>> data_set = find_data_set("fasttext:hr")
    >>> data_set.licence, data_set.files[0].url
    ('CC BY-SA 3.0', 'https://dl.fbaipublicfiles.com/fasttext/vectors-wiki/wiki.hr.vec')
    >>> len(find_data_set("xling").files)
    84
    """
    family_name, colon, choice = name.strip().partition(":")
    family = FAMILIES.get(family_name)
    if family_name in BY_HAND:
        raise FippError(f"{family_name} is not downloaded: {BY_HAND[family_name]}")
    if family is None:
        raise FippError(f"no data set is called {name!r}; there are {', '.join(FAMILIES)}: `fipp download --list`")
    if not family.parameter:
        if colon:
            raise FippError(f"{family_name} has no parts: `fipp download {family_name}`")
    elif not choice:
        if colon or not family.whole:
            raise FippError(f"{family_name} needs a {family.parameter.lower()}, such as {family.example}")
    else:
        _check_choice(family, choice)
    return family.data_set(choice)


def _check_choice(family: Family, choice: str) -> None:
    if not family.choices:
        if not _LANGUAGE.fullmatch(choice):
            raise FippError(f"{choice!r} is no language code; {family.name} is called such as {family.example}")
    elif choice not in family.choices:
        turned = "-".join(reversed(choice.split("-")))
        if turned in family.choices and turned != choice:
            hint = f"it has {turned}, which `fipp lexicon reverse` turns round"
        else:
            hint = f"it has {', '.join(family.choices)}"
        raise FippError(f"{family.name} has no {choice!r}; {hint}")
