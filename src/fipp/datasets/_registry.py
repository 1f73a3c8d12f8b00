"""Public data sets: what they are, where they are, and under which licence.

Checksums are those that others have published: the MD5 sums of the wiki vectors in babylonhealth/fastText_multilingual,
and the SHA-1 sums of the GloVe files in Apache MXNet. They detect damaged files; HTTPS protects against forged ones.
Nobody has published checksums of the others: ``checksum`` is None, and `download` keeps those of the first download.

Licences are those that the publishers state for the data: CC BY-SA 3.0 on fastText's pages, the PDDL on GloVe's page.
The repository of XLING and the page of SimLex-999 state none, which is "unknown" here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations

from fipp.exceptions import FippError

_META = "https://dl.fbaipublicfiles.com"
_XLING = "https://raw.githubusercontent.com/codogogo/xling-eval/master/bli_datasets"
_XLING_FILES = {"train.1k": "train.freq.1k", "train.5k": "train.freq.5k", "test.2k": "test.freq.2k"}

_XLING_DIRECTIONS = (
    "de-fi de-fr de-hr de-it de-ru de-tr en-de en-fi en-fr en-hr en-it en-ru en-tr fi-fr fi-hr fi-it fi-ru "
    "hr-fr hr-it hr-ru it-fr ru-fr ru-it tr-fi tr-fr tr-hr tr-it tr-ru"
)
XLING_PAIRS = tuple(_XLING_DIRECTIONS.split())
"""The 28 pairs of eight languages, in the direction for which there are files."""

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
"""English with 44 languages in both directions, and five European languages with each other."""

_GLOVE = {
    "6B": ("glove.6B.zip", 862_000_000, ("50d", "100d", "200d", "300d")),
    "42B": ("glove.42B.300d.zip", 1_880_000_000, ("300d",)),
    "840B": ("glove.840B.300d.zip", 2_180_000_000, ("300d",)),
    "twitter.27B": ("glove.twitter.27B.zip", 1_520_000_000, ("25d", "50d", "100d", "200d")),
}

_WIKI_MD5 = (
    "af 15647c8bcb9c107e63628a5c7bea1859 ar 2bb13a5d6b9a57ea189dffc411a04b22 az 4ae526e12444ad0fb08be5ed4e40d3af "
    "be 604380c98915bb21e7ccfd0564bb6628 bg 05d68b8fcc06137c46401b2ad1ed9ccd bn 1bd351bd3989855ec3052ce71aa2c924 "
    "bs 67fc780b9e7db70f30c6e896e3b31fe5 ca 264ef8618dcbc2cb292ffaa588d03e2a cs 3da2f44d4abc922519ac1b1039a916db "
    "da 37e2b8e22975dbded5cd40972c4ec554 de 927efc3b700221cbcaa6cc423a439811 el ee4ae9d7b4b833ae2563c48d67551bc4 "
    "en 4417ac4e985cf98b0690e0f580112a68 es 1167e9471d5790676db9e01e838e137b et 00cb4ad761334426eeb25ac571515123 "
    "fa 5e8a2dd83f8a760743c445861b0be27d fi f62dc3a095d64be42f3e6ac8930c5609 fr 6cafd0b428ddb6e74b78ef41a0cddcae "
    "he e24246e15fd0526ae831ca1e6da573fd hi 9b069f2ff88b05179c5a4327f81835af hr edb17dd3400e19d9c9198489aac3abbe "
    "hu 9d415a28b390b5cda73bd06ad5cd6ac1 id fba3bfb9d65c6141cc2c62e83846b46b it 3e5adcb402287500c05ddc492baead59 "
    "ja 90fe71e0cb69c7600c62f9aad774d9b3 ko 3ac1d2291f659d786f3661b023d65aaf lt 09b1fb0afa0f20abbb88d7a483316f7b "
    "lv 96fb7d5656587b9228f3a9f7f4d08979 mk e160ba2ea750c89ff3a93daa704aaaa2 ms 1c61fba699fd0f53c72074b930c67e4a "
    "nl a17ddd0241a4bced374c83f00f517b58 no 8be4ae20e8d2d5ae8d79b0d8c04ec52f pl ab9a95bd8d0626b553dd3cf4fcdb1946 "
    "pt a5c68b787ad58f7eefe8ad728b115cb3 ro ecc6705aba7852c9007951195a03a72d ru 03555e935e829f98ac6ee493fd767818 "
    "sk f6b0f97801ac07323a3f305d0ca3c6bb sl 9a9495a44f0f6c6d2e8ed2c4ad075892 sq 16ae616d193a84e3011c9f51648531e7 "
    "sr ae49a9fafd1103121409c147a39b05ef sv f58ec6d4f60ae7db196c6c499f0eb5e7 ta 89dfd69328231642a96ef1a7468f3122 "
    "th b1222646f30b4e5e0829e4b22aa18692 tl b481998dbebb71c1d46972b0d8debaf2 tr 0e6eb5f13334115e5d8f9841a1322059 "
    "uk a213dbccf90552041e0335c4f749203b vi 1830447815c21e511274ca0edcb1d350 zh 7bdc62048ffd013f9398833dac627d5f"
)
WIKI_MD5 = dict(zip(_WIKI_MD5.split()[::2], _WIKI_MD5.split()[1::2], strict=True))
"""The MD5 sums of ``wiki.LANGUAGE.vec``."""

GLOVE_SHA1 = {
    "glove.42B.300d.txt": "876767977d6bd4d947c0f84d44510677bc94612a",
    "glove.6B.50d.txt": "21bf566a9d27f84d253e0cd4d4be9dcc07976a6d",
    "glove.6B.100d.txt": "16b1dbfaf35476790bd9df40c83e2dfbd05312f1",
    "glove.6B.200d.txt": "17d0355ddaa253e298ede39877d1be70f99d9148",
    "glove.6B.300d.txt": "646443dd885090927f8215ecf7a677e9f703858d",
    "glove.840B.300d.txt": "294b9f37fa64cce31f9ebb409c266fc379527708",
    "glove.twitter.27B.25d.txt": "767d80889d8c8a22ae7cd25e09d0650a6ff0a502",
    "glove.twitter.27B.50d.txt": "9585f4be97e286339bf0112d0d3aa7c15a3e864d",
    "glove.twitter.27B.100d.txt": "1bbeab8323c72332bd46ada0fc3c99f2faaa8ca8",
}
"""The SHA-1 sums of the members of the archives."""


@dataclass(frozen=True)
class RemoteFile:
    """One file: its address, or that of a zip archive and its ``member``, and its path below the folder of downloads.

    ``checksum`` is that of the final file, ``size`` roughly the number of bytes to transfer.
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
    """Data sets of one kind; a name such as ``fasttext:hr`` is a family and a choice.

    ``parameter`` says what follows the colon, such as ``LANGUAGE``. Without ``choices``, it is a language code that
    only the server can check. ``whole`` says whether the name without a choice means all of them.
    """

    name: str
    example: str
    files: Callable[[str], Iterator[RemoteFile]]
    title: str
    licence: str
    homepage: str
    parameter: str = ""
    choices: tuple[str, ...] = ()
    whole: bool = False

    def data_set(self, choice: str) -> DataSet:
        """Return the data set of one choice, or of all choices if it is empty."""
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
    "ted-cldc": "its page, http://www.clg.ox.ac.uk/tedcldc.html, links to the archive of TED-CLDC, but that address is "
    "not protected by HTTPS. Fetch it there; `fipp reproduce documents` reads the archive as it is"
}
"""Data sets that are not downloaded, and how to get them."""

_GLOVE_CHOICES = tuple(
    choice
    for corpus, (_, _, dimensions) in _GLOVE.items()
    for choice in (corpus, *(f"{corpus}.{dimension}" for dimension in dimensions))
)

# fmt: off
FAMILIES = {
    family.name: family
    for family in (
        Family(
            "xling", "xling:en-fr", _xling,
            "dictionaries of the XLING study: 1,000 and 5,000 training pairs, 2,000 test pairs (Glavaš et al. 2019)",
            "unknown", "https://github.com/codogogo/xling-eval", "PAIR", XLING_PAIRS, whole=True,
        ),
        Family(
            "muse", "muse:en-hr", _muse,
            "MUSE dictionaries: all pairs, 5,000 words to train and 1,500 to test (Conneau et al. 2018)",
            "CC BY-NC 4.0, that of the repository; the dictionaries name none",
            "https://github.com/facebookresearch/MUSE", "PAIR", MUSE_PAIRS,
        ),
        Family(
            "fasttext", "fasttext:hr", _wiki,
            "fastText vectors of Wikipedia, 300 dimensions, as text: those of the XLING study",
            "CC BY-SA 3.0", "https://fasttext.cc/docs/en/pretrained-vectors.html", "LANGUAGE",
        ),
        Family(
            "fasttext-crawl", "fasttext-crawl:hr", _crawl,
            "fastText vectors of Common Crawl and Wikipedia, 300 dimensions, as compressed text",
            "CC BY-SA 3.0", "https://fasttext.cc/docs/en/crawl-vectors.html", "LANGUAGE",
        ),
        Family(
            "fasttext-crawl-bin", "fasttext-crawl-bin:hr", lambda language: _crawl(language, "bin"),
            "the same as compressed models, which also have vectors for unseen words",
            "CC BY-SA 3.0", "https://fasttext.cc/docs/en/crawl-vectors.html", "LANGUAGE",
        ),
        Family(
            "glove", "glove:6B.100d", _glove,
            "GloVe vectors of English: Wikipedia and news (6B), Common Crawl (42B, 840B), Twitter (27B)",
            "PDDL 1.0", "https://nlp.stanford.edu/projects/glove/", "CORPUS", _GLOVE_CHOICES,
        ),
        Family(
            "simlex", "simlex", _simlex,
            "SimLex-999: how similar people find 999 pairs of English words (Hill et al. 2015)",
            "unknown", "https://fh295.github.io/simlex.html",
        ),
        Family(
            "multinli", "multinli", _multinli,
            "MultiNLI 1.0: English sentences and what follows from them, 393,000 pairs to train (Williams et al. 2018)",
            "several, see its paper", "https://cims.nyu.edu/~sbowman/multinli/",
        ),
        Family(
            "xnli", "xnli", _xnli,
            "XNLI 1.0: the same in 15 languages, 2,490 pairs to choose by and 5,010 to test (Conneau et al. 2018)",
            "CC BY-NC 4.0", "https://github.com/facebookresearch/XNLI",
        ),
    )
}
# fmt: on

_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][a-z]{1,10})*|simple")


def find_data_set(name: str) -> DataSet:
    """Return the data set of a name such as ``"simlex"``, ``"fasttext:hr"``, ``"muse:en-hr"`` or ``"xling:en-fr"``.

    Returns
    -------
    DataSet
        Its files with their addresses, and its licence.

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
        raise FippError(
            f"there is no data set {name!r}; the data sets are {', '.join(FAMILIES)}: `fipp download --list`"
        )
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
            raise FippError(f"{choice!r} is not a language code; write for example {family.example}")
    elif choice not in family.choices:
        turned = "-".join(reversed(choice.split("-")))
        if turned in family.choices and turned != choice:
            hint = f"it has {turned}, which `fipp lexicon reverse` reverses"
        else:
            hint = f"it has {', '.join(family.choices)}"
        raise FippError(f"{family.name} has no {choice!r}; {hint}")
