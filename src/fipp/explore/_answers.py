"""The explorer's answers to questions about words: translations, neighbours, a map, and the seed pairs nearby."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from fipp._printable import printable
from fipp.exceptions import FippError
from fipp.explore._batches import Batches, Place
from fipp.explore._edits import Edit
from fipp.explore._models import Pair, View, WordList
from fipp.explore._session import Refitted, Session
from fipp.report import principal_axes
from fipp.retrieve import Neighbours, Side, SideBySide

# A long list is asked for in parts, so that those who type need not wait for all of it.
_WORDS_AT_A_TIME = 64
_SUGGESTED = 8
# What undo takes back, by the action of an edit.
_DONE = {"wrong": "the mark on", "restore": "restoring", "add": "adding", "correct": "changing"}
# How many words of each kind a map shows beside the one in its middle.
_ON_THE_MAP = 7


class UnknownWordError(FippError):
    """A word that a side does not have; ``near`` has words that are spelled nearly like it."""

    def __init__(self, word: str, side: WordList) -> None:
        super().__init__(f"{word!r} is not among the {len(side.words):,} words of {side.name}")
        self.near = side.suggest(word, _SUGGESTED)


class Answers:
    """Answers questions about words from a session; many questions at a time are answered by one product."""

    def __init__(self, session: Session, batches: Batches) -> None:
        self.session, self.batches = session, batches

    async def translate(self, word: str, side: Side, k: int) -> dict[str, Any]:
        """Return translations of a word by all models, by cosine and by CSLS; suggestions for an unknown word."""
        own, other = self._sides(side)
        row = own.row(word)
        if row is None:
            near = await asyncio.to_thread(own.suggest, word, _SUGGESTED)
            return {"word": word, "side": side, "known": False, "near": near, "models": []}
        views = [view for view in (self.session.view, self.session.second) if view is not None]
        found = await asyncio.gather(*(self._search(view, side, [row], k) for view in views))
        models = [
            {
                "method": view.method,
                "cosine": _ranked(each.cosine, 0, other),
                "csls": None if each.csls is None else _ranked(each.csls, 0, other),
            }
            for view, each in zip(views, found, strict=True)
        ]
        return {"word": own.words[row], "side": side, "known": True, "near": [], "models": models}

    async def translate_list(
        self, words: Sequence[str], side: Side, k: int, retrieval: str, model: str
    ) -> dict[str, Any]:
        """Return translations of many words, each once, and the words that are unknown."""
        own, other = self._sides(side)
        view = self.session.second if model == "second" else self.session.view
        if view is None:
            raise FippError("there is no second model")
        if retrieval == "csls" and view.index.hubs is None:
            raise FippError("CSLS is still being prepared: ask again in a moment, or ask for cosine")
        asked = list(dict.fromkeys(stripped for word in words if (stripped := word.strip())))
        rows = [own.row(word) for word in asked]
        known = [(word, row) for word, row in zip(asked, rows, strict=True) if row is not None]
        translations = []
        for start in range(0, len(known), _WORDS_AT_A_TIME):
            part = known[start : start + _WORDS_AT_A_TIME]
            found = await self._search(view, side, [row for _, row in part], k)
            chosen = found.csls if retrieval == "csls" else found.cosine
            assert chosen is not None  # the hubs were measured
            translations += [
                {"word": word, "translations": _ranked(chosen, place, other)} for place, (word, _) in enumerate(part)
            ]
        return {
            "translations": translations,
            "unknown": [word for word, row in zip(asked, rows, strict=True) if row is None],
        }

    async def neighbours(self, word: str, side: Side, k: int) -> dict[str, Any]:
        """Return the words near a word on its own side, and those near its best translation on the other side."""
        own, other, row = *self._sides(side), self._row(word, side)
        view, other_side = self.session.view, _other(side)
        near, found = await asyncio.gather(
            self._similar(view, side, [row], k), self._search(view, side, [row], max(k, 1))
        )
        best = int((found.csls or found.cosine).indices[0, 0])
        beyond = await self._similar(view, other_side, [best], k)
        return {
            "own": {"side": side, "word": own.words[row], "words": _ranked(near, 0, own)},
            "other": {"side": other_side, "word": other.words[best], "words": _ranked(beyond, 0, other)},
        }

    async def map(self, word: str, side: Side) -> dict[str, Any]:
        """Return places in two dimensions of a word, its neighbours, its translations, and the lines of seed pairs."""
        row, view, other_side = self._row(word, side), self.session.view, _other(side)
        near, found = await asyncio.gather(
            self._similar(view, side, [row], _ON_THE_MAP), self._search(view, side, [row], _ON_THE_MAP)
        )
        rows = {side: [row, *near.indices[0].tolist()], other_side: (found.csls or found.cosine).indices[0].tolist()}
        places = [(each, number) for each in (side, other_side) for number in rows[each]]
        vectors = np.concatenate([view.index.vectors(rows[each], each) for each in (side, other_side)])
        origin, axes = principal_axes(vectors)
        shown = (vectors - origin) @ axes
        shown /= max(float(np.abs(shown).max(initial=0)), 1e-12)
        points = [
            {
                "word": self.session.side(each).words[number],
                "side": each,
                "x": round(float(x), 4),
                "y": round(float(y), 4),
            }
            for (each, number), (x, y) in zip(places, np.pad(shown, ((0, 0), (0, 2 - shown.shape[1]))), strict=True)
        ]
        known = set(self.session.pairs.right)
        sources = [(place, number) for place, (each, number) in enumerate(places) if each == "source"]
        targets = [(place, number) for place, (each, number) in enumerate(places) if each == "target"]
        return {"points": points, "pairs": [[a, b] for a, s in sources for b, t in targets if (s, t) in known]}

    def seeds(self, word: str, side: Side, k: int) -> dict[str, Any]:
        """Return the seed pairs of a word and those of words near to it, with what the filter kept of them."""
        row, view, pairs = self._row(word, side), self.session.view, self.session.pairs
        known = pairs.all
        column = 0 if side == "source" else 1
        rows = np.array([pair[column] for pair in known], dtype=np.int64)
        cosines = view.index.vectors(rows, side) @ view.index.vectors([row], side)[0]
        best = np.lexsort((rows, -cosines, rows != row))[:k]
        return {"seeds": [self._seed(known[place], float(cosines[place])) for place in best.tolist()]}

    def suspects(self, k: int) -> dict[str, Any]:
        """Return the most suspicious seed pairs, and how many are no nearer than words paired by chance."""
        found = self.session.suspects()
        seeds = [self._seed(pair, cosine) for pair, cosine in islice(found.cosines.items(), k)]
        return {"seeds": seeds, "suspicious": found.n_suspicious}

    def _seed(self, pair: Pair, cosine: float) -> dict[str, Any]:
        return {
            "source": self.session.source.words[pair[0]],
            "target": self.session.target.words[pair[1]],
            "cosine": round(cosine, 4),
            "kept": self.session.view.kept.get(pair),
            "state": self.session.pairs.state(pair),
        }

    def edit(self, action: Any, source: str, target: str, to_source: str | None, to_target: str | None) -> None:
        """Change the seed pairs; a correction may leave out the word that stays."""
        pair = self._row(source, "source"), self._row(target, "target")
        to = None
        if to_source is not None or to_target is not None:
            to = (
                pair[0] if to_source is None else self._row(to_source, "source"),
                pair[1] if to_target is None else self._row(to_target, "target"),
            )
        self.session.edit(Edit(action, pair, to if action == "correct" else None))

    def status(self) -> dict[str, Any]:
        """Return what is known of the models, the edits, the refit and the score."""
        session, pairs = self.session, self.session.pairs
        views = [view for view in (session.view, session.second) if view is not None]
        last = session.history[-1] if session.history else None
        return {
            "source": self._vocabulary("source"),
            "target": self._vocabulary("target"),
            "models": [{"method": view.method, "csls": view.index.hubs is not None} for view in views],
            "csls_progress": 1.0 if all(view.index.hubs for view in views) else round(session.hubs_progress, 4),
            "pairs": {"given": len(pairs.given), "added": len(pairs.added), "wrong": len(pairs.wrong)},
            "undo": None if last is None else self._named(last),
            "refit": self.refit(),
            "score": session.comparison,
            "can_save": session.folder is not None,
            "answered": {"questions": self.batches.n_questions, "products": self.batches.n_products},
        }

    def _vocabulary(self, side: Side) -> dict[str, Any]:
        words = self.session.side(side)
        return {"name": words.name, "words": len(words.words), "examples": self.session.examples[side]}

    def refit(self) -> dict[str, Any]:
        """Return the state of the last refit."""
        refit = self.session.refit
        return {
            "state": refit.state,
            "method": refit.method,
            "progress": round(refit.progress, 4),
            "message": refit.message,
        }

    def _named(self, entry: Edit | Refitted) -> str:
        if isinstance(entry, Refitted):
            return "the refit"
        words = self.session.source.words[entry.pair[0]], self.session.target.words[entry.pair[1]]
        return f"{_DONE[entry.action]} {printable(words[0])} – {printable(words[1])}"

    def _sides(self, side: Side) -> tuple[WordList, WordList]:
        return self.session.side(side), self.session.side(_other(side))

    def _row(self, word: str, side: Side) -> int:
        row = self.session.side(side).row(word)
        if row is None:
            raise UnknownWordError(word, self.session.side(side))
        return row

    async def _search(self, view: View, side: Side, rows: Sequence[int], k: int) -> SideBySide:
        return await asyncio.wrap_future(self.batches.ask(Place(view.index, side), rows, k))

    async def _similar(self, view: View, side: Side, rows: Sequence[int], k: int) -> Neighbours:
        found = await asyncio.wrap_future(self.batches.ask(Place(view.index, side, same_side=True), rows, k))
        return found.cosine


def as_tsv(answer: dict[str, Any]) -> str:
    """Return translations as lines of word, rank, translation and score; unknown words have a line without these."""
    lines = [
        (each["word"], str(rank), best["word"], f"{best['score']:.4f}")
        for each in answer["translations"]
        for rank, best in enumerate(each["translations"], 1)
    ]
    lines += [(word, "", "", "") for word in answer["unknown"]]
    return "".join(
        "\t".join(map(printable, line)) + "\n" for line in (("word", "rank", "translation", "score"), *lines)
    )


def _other(side: Side) -> Side:
    return "target" if side == "source" else "source"


def _ranked(found: Neighbours, place: int, words: WordList) -> list[dict[str, Any]]:
    ranked = zip(found.indices[place].tolist(), found.scores[place].tolist(), strict=True)
    return [{"word": words.words[row], "score": round(score, 4)} for row, score in ranked]
