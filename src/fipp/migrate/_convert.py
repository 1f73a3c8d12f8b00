"""Converting a store fragment by fragment: started, interrupted, resumed, caught up, switched and undone."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Progress, Steps
from fipp.aligners import BaseAligner
from fipp.exceptions import FippError, warn
from fipp.io import read_model
from fipp.linalg import machines, ordered_map, shared_map
from fipp.migrate._batches import BatchConverter, row_named
from fipp.migrate._manifest import Manifest
from fipp.migrate._migration import MIGRATION, Migration
from fipp.stores import (
    FolderSink,
    Fragment,
    Sink,
    Store,
    matrix_of,
    open_sink,
    open_source,
    vector_column,
)

_MOST_PASSES = 10
# Each thread holds a few batches: with more of them, a conversion to 768 dimensions would take more than a gigabyte.
_MOST_THREADS = 32

Model = str | os.PathLike[str]


class _Map(NamedTuple):
    """How a saved model converts vectors, and how it refuses those of another model."""

    transform: Callable[[NDArray[Any]], NDArray[Any]]
    check: Callable[[NDArray[Any]], object]

    @classmethod
    def load(cls, model: Model) -> _Map:
        """Read a migration for documents, or an aligner of any method."""
        if MIGRATION not in read_model(model)[1]:
            aligner = BaseAligner.load(model)
            return cls(aligner.transform, partial(_check_length, aligner))
        migration = Migration.load(model)
        migration.expect("documents")
        # Its check is made once, before the conversion, not for every batch.
        return cls(partial(migration.convert_documents, check=False), migration.check)


def _check_length(aligner: BaseAligner, matrix: NDArray[Any]) -> None:
    """Raise a FippError for vectors that an aligner cannot map; whose they are, it does not know."""
    if matrix.shape[1] != aligner.n_features_in_:
        raise FippError(
            f"the model maps vectors of {aligner.n_features_in_} dimensions, but these have {matrix.shape[1]}"
        )
    aligner.transform(matrix[:1])


class Conversion:
    """One conversion of a store: `start` it or `load` one that was started, then `run` it to the end.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from fipp import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 4)).astype(np.float32)
    >>> folder = tempfile.mkdtemp()
    >>> Ridge().fit(X, X @ rng.standard_normal((4, 6))).save(f"{folder}/model.fipp")
    >>> np.save(f"{folder}/old.npy", X)
    >>> conversion = Conversion.start(f"{folder}/model.fipp", f"{folder}/old.npy", f"{folder}/new.npy")
    >>> conversion.run()
    >>> np.load(f"{folder}/new.npy").shape
    (200, 6)
    """

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.sink: Sink = open_sink(manifest.sink, key=manifest.key, column=manifest.column)

    # To switch back, neither the model nor the source need be there.

    @cached_property
    def source(self) -> Store:
        """The store that is converted."""
        manifest = self.manifest
        address = manifest.source
        if manifest.state == "switched":
            address = self.sink.original(address, manifest.name, manifest.before)
        return open_source(address, key=manifest.key)

    @cached_property
    def converter(self) -> BatchConverter:
        """What converts record batches of the source."""
        return BatchConverter(self._map.transform, self.manifest.column, self.manifest.dtype)

    @cached_property
    def _map(self) -> _Map:
        manifest = self.manifest
        if _checksum(manifest.model) != manifest.model_checksum:
            raise FippError(f"the model {manifest.model} is not the one that the conversion was started with")
        return _map_of(manifest.model, manifest.model_checksum)

    @classmethod
    def start(
        cls,
        model: Model,
        source: str | os.PathLike[str],
        sink: str | os.PathLike[str],
        *,
        column: str | None = None,
        key: str | None = None,
        dtype: str = "float32",
        fragment_rows: int | None = None,
        manifest: str | os.PathLike[str] | None = None,
    ) -> Conversion:
        """Prepare a conversion; nothing is converted yet.

        Parameters
        ----------
        model : path
            A saved `Migration` for documents, or a saved aligner.
        source, sink : str or path
            The addresses of the store to read and the one to write, which must not exist.
        column : str, optional
            The column of vectors, if there are several.
        key : str, optional
            The column that rows of a database are ordered by; the primary key by default.
        dtype : {"float32", "float16", "int8"}, default "float32"
            What numbers become.
        fragment_rows : int, optional
            About how many rows are done again at most after an interruption: 65,536 by default, or whole row groups of
            Parquet that have up to 1,048,576 rows, because workers can only read one from its start.
        manifest : path, optional
            Where progress is recorded; beside the sink by default, in the current folder for databases.

        Returns
        -------
        Conversion
        """
        place = manifest_path(sink) if manifest is None else Path(manifest)
        if place.exists():
            raise FippError(
                f"{place} is there already: `fipp migrate resume {quote(os.fspath(sink))}` goes on, rollback --delete "
                "removes it"
            )
        with closing(open_source(_absolute(source), key=key)) as store:
            key = store.key or key
            schema, total = store.schema(), store.count()
            chosen = vector_column(schema, column, store=str(source))
            written = Manifest(
                path=place, model=_absolute(model), model_checksum=_checksum(model), source=store.address,
                sink=open_sink(_absolute(sink), key=key).address, column=chosen, key=key, dtype=dtype,
                fragment_rows=fragment_rows or store.fragment_rows, total=total,
            )  # fmt: skip
        with closing(cls(written)) as conversion:
            if conversion.sink.exists():
                raise FippError(
                    f"{sink} exists already, and a conversion never changes what is there: choose another name"
                )
            size = total * conversion._check_first_rows()
            conversion.sink.create(conversion.converter.schema(schema), conversion.source, size)
            written.save()
            conversion._warn_of_partitions()
        return conversion

    @classmethod
    def load(cls, sink: str | os.PathLike[str], *, manifest: str | os.PathLike[str] | None = None) -> Conversion:
        """Return a conversion that was started, by what it writes to."""
        found = Manifest.load(manifest_path(sink) if manifest is None else Path(manifest))
        if not _is_same(found.sink, _absolute(sink)):
            raise FippError(f"{found.path} is not the manifest of {sink}, but of {found.sink}: was it moved?")
        return cls(found)

    def close(self) -> None:
        """Let go of both stores; what is asked for later opens them again."""
        if "source" in vars(self):
            self.source.close()
        self.sink.close()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Refuse a second process that works on the same conversion, and let go of both stores at the end."""
        with self.manifest.locked(), closing(self):
            yield

    def _check_first_rows(self) -> int:
        """Refuse vectors that the model was not made for, before anything is written; return the size of a new one."""
        with closing(self.source.batches()) as batches:
            for batch in batches:
                matrix, valid = matrix_of(batch.column(self.manifest.column), f"the column {self.manifest.column!r}")
                if len(matrix):
                    try:
                        self._map.check(matrix)
                    except FippError as error:
                        reason = row_named(error, batch, matrix, valid)
                        raise FippError(f"{self.manifest.source}: {reason}") from None
                    converted = self._map.transform(matrix[:1].astype(np.float32))
                    return int(converted.size * np.dtype(self.manifest.dtype).itemsize)
        return 0

    def _warn_of_partitions(self) -> None:
        """Say that what the names of the source's folders tell is lost, unless the result has the same folders."""
        folder = getattr(self.source, "partition", "")
        if folder and not isinstance(self.sink, FolderSink):
            warn(
                f"what the names of folders such as {folder} in {self.manifest.source} tell is in no column, and "
                f"{self.manifest.sink} will not have it: convert to a folder, which has the same ones"
            )

    def run(self, progress: Progress | None = None) -> None:
        """Convert what is not converted yet, catch up with rows that changed meanwhile, and put all in its place."""
        manifest = self.manifest
        with self._working():
            if manifest.state != "converting":
                if not self.sink.exists():
                    raise FippError(f"{manifest.sink} was finished, but is gone: rollback --delete forgets it")
                self.sink.tidy()
                return
            self.sink.open(self.converter.schema(self.source.schema()), self.source)
            self._catch_up(progress)
            checksums = {name: checksum for name, (_, checksum) in manifest.fragments.items()}
            manifest.checksums = self.sink.finish(manifest.done, checksums)
            manifest.state, manifest.total = "finished", manifest.rows
            manifest.save()
            self.sink.tidy()

    def _catch_up(self, progress: Progress | None) -> None:
        """Convert until a look at the whole source finds nothing that has changed."""
        for _ in range(_MOST_PASSES):
            planned: list[Fragment] = []
            changed = self._pass(planned, progress)
            gone = self.manifest.arrange(planned)
            for fragment in gone:
                self.sink.remove(fragment)
            if not changed and not gone:
                return
        raise FippError(f"{self.manifest.source} changes faster than it is converted: stop writing to it, then resume")

    def _pass(self, planned: list[Fragment], progress: Progress | None) -> int:
        """Convert what is new or changed; return how many fragments that were."""
        manifest, begun = self.manifest, time.monotonic()
        steps, count = Steps(progress, manifest.total), 0
        steps.done = manifest.rows

        def missing() -> Iterator[Fragment]:
            for fragment in self.source.plan(manifest.fragment_rows, manifest.done):
                planned.append(fragment)
                if not manifest.has(fragment):
                    yield fragment

        write = self._written_here if machines() is None else self._written_elsewhere
        with closing(write(missing())) as written:
            for fragment, checksum in written:
                now = time.monotonic()
                manifest.record(fragment, checksum, now - begun)
                begun, count = now, count + 1
                steps.stage(f"{manifest.status()['rows_per_second']:,.0f} rows per second")
                steps(min(fragment.rows, steps.total - steps.done))
        return count

    def _written_here(self, fragments: Iterator[Fragment]) -> Generator[tuple[Fragment, str], None, None]:
        """Convert and write one fragment after the other; yield the checksum of each."""
        with (
            closing(self.source.scan(fragments)) as batches,
            closing(ordered_map(self._converted, batches, _MOST_THREADS)) as converted,
        ):
            for fragment, group in groupby(converted, key=lambda item: item[0]):
                yield fragment, self.sink.write(fragment, (batch for _, batch in group))

    def _written_elsewhere(self, fragments: Iterator[Fragment]) -> Generator[tuple[Fragment, str], None, None]:
        """Do the same on other machines, each of which writes whole fragments where all of them can see them."""
        return shared_map(_write_fragment, replace(self.manifest, fragments={}, checksums={}), fragments)

    def _converted(self, item: tuple[Fragment, Any]) -> tuple[Fragment, Any]:
        fragment, batch = item
        try:
            return fragment, self.converter(batch)
        except FippError as error:
            raise FippError(f"{fragment.name} of {self.manifest.source}: {error}") from None

    def switch(self, name: str) -> None:
        """Let ``name`` mean the converted collection, in one step."""
        if "://" not in self.manifest.sink:  # a link, which is switched back perhaps from another folder
            name = os.path.abspath(name)
        with self._working():
            if self.manifest.state == "switched":
                raise FippError(f"{self.manifest.name} means {self.manifest.sink} already: rollback switches back")
            if self.manifest.state != "finished":
                raise FippError(f"{self.manifest.sink} is not finished: `fipp migrate resume` goes on")
            if not self.sink.exists():
                raise FippError(f"{self.manifest.sink} was finished, but is gone: rollback --delete forgets it")
            # What is needed to switch back is known before anything is switched.
            self.manifest.name, self.manifest.before = name, self.sink.before(name)
            self.manifest.save()
            self.sink.switch(name)
            self.manifest.state = "switched"
            self.manifest.save()

    def rollback(self) -> None:
        """Let the name that was switched mean again what it meant before; the converted collection stays."""
        with self._working():
            if not self.manifest.name:
                raise FippError(f"nothing was switched to {self.manifest.sink}; --delete removes what was converted")
            self.sink.switch_back(self.manifest.name, self.manifest.before)
            self.manifest.state, self.manifest.name, self.manifest.before = "finished", "", ""
            self.manifest.save()

    def delete(self) -> None:
        """Remove everything that was converted, and the manifest."""
        if self.manifest.name:
            self.rollback()
        with self._working():
            self.sink.discard()
            self.manifest.path.unlink(missing_ok=True)


@lru_cache(maxsize=1)
def _map_of(model: str, checksum: str) -> _Map:
    """Return the map of a model, which is read once for all fragments that a process converts."""
    return _Map.load(model)


def _write_fragment(manifest: Manifest, fragment: Fragment) -> tuple[Fragment, str]:
    """Convert and write a fragment on a machine that knows nothing but the manifest."""
    with closing(Conversion(manifest)) as conversion:
        conversion.sink.open(conversion.converter.schema(conversion.source.schema()), conversion.source)
        ((_, checksum),) = conversion._written_here(iter([fragment]))
    return fragment, checksum


def manifest_path(sink: str | os.PathLike[str]) -> Path:
    """Return where the progress of a conversion is recorded: beside files, in the current folder for a database."""
    address = os.fspath(sink)
    if "://" in address:
        return Path(f"{address.rpartition('#')[2]}.migration.jsonl")
    path = Path(address if Path(address).name else os.path.abspath(address))
    if not path.name:
        raise FippError(f"{address} cannot be written: give the name of a folder or file that does not exist yet")
    return path.with_name(f"{path.name}.migration.jsonl")


def _absolute(address: str | os.PathLike[str]) -> str:
    """Return an address that means the same from any folder."""
    text = os.fspath(address)
    if not text:
        raise FippError("a store needs a name: a path or an address")
    return text if "://" in text else os.path.abspath(text) + ("/" if text.endswith("/") else "")


def _is_same(one: str, other: str) -> bool:
    """Return whether two absolute addresses mean the same place, by whatever path."""
    is_path = "://" not in one and "://" not in other
    return os.path.realpath(one) == os.path.realpath(other) if is_path else one == other


def _checksum(model: Model) -> str:
    try:
        return hashlib.blake2b(Path(model).read_bytes(), digest_size=16).hexdigest()
    except OSError as error:
        raise FippError(f"cannot read the model {model}: {error.strerror}") from None
