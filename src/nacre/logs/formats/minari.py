"""Minari datasets: a directory with the spaces as JSON and the episodes in HDF5.

They are read as plain data. Minari itself may make the environment that a dataset names, and so run
code of whoever wrote it; nothing of the kind happens here.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import MultiDiscrete, Space
from numpy.typing import NDArray

from nacre.files.documents import parse_json
from nacre.logs.checks.problems import Problems, show
from nacre.logs.formats.array_sources import WholeArrays
from nacre.logs.formats.hdf5 import find_refusal, is_own, open_hdf5, report_damage
from nacre.logs.formats.minari_leaves import Leaf, list_leaves
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.schema.metadata import Metadata
from nacre.logs.schema.spaces import JSON, SpaceError, space_from_json
from nacre.logs.storage.stores import Store, release

PREFIX = "minari:"
_METADATA, _MAIN = "metadata.json", "main_data.hdf5"
_LARGEST_METADATA = 10_000_000
_EPISODE = re.compile(r"episode_([0-9]+)")
_ARRAYS = {
    "observation": "observations",
    "action": "actions",
    "reward": "rewards",
    "next_observation": "observations",
    "terminated": "terminations",
    "truncated": "truncations",
}
UNREADABLE = (
    *(SpaceError, ValueError, TypeError, AttributeError, AssertionError),
    *(OverflowError, RecursionError),
)
"""What Gymnasium and JSON raise for a description of a space that is none."""
_TOLD = ("dataset_id", "algorithm_name", "minari_version", "author", "description")


def _is_dataset(path: Path) -> bool:
    try:
        return (path / _METADATA).is_file()
    except (OSError, ValueError):
        return False


@dataclass(frozen=True)
class _Episode:
    """The arrays of an episode and its number of transitions."""

    arrays: Mapping[str, Any]
    length: int


class MinariSource(WholeArrays):
    """The episodes of a dataset as columns of transitions."""

    def __init__(
        self,
        file: Any,
        episodes: list[_Episode],
        metadata: Metadata,
        problems: Problems,
        store: Store,
        leaves: Sequence[Leaf] = (),
    ) -> None:
        names = [name for name in _ARRAYS if not leaves or "observation" not in name]
        self._leaves = {
            f"{stem}{leaf.name}": leaf
            for stem in ("observation", "next_observation")
            for leaf in leaves
        }
        super().__init__(["episode", *names, *self._leaves], problems, metadata, store)
        self._file = file
        self._episodes = episodes
        self._n_rows = sum(episode.length for episode in episodes)

    def is_numeric(self, name: str) -> bool:
        """Return True: everything else was refused."""
        return True

    def load(self, name: str, part: str | None = None) -> NDArray[Any] | None:
        """Return a column of all episodes, or None after reporting why it cannot be read."""
        if name == "episode":
            lengths = [episode.length for episode in self._episodes]
            return np.repeat(np.arange(len(lengths)), lengths)
        with report_damage(self.problems):
            if name in self._leaves:
                return self._load_leaf(self._leaves[name], int(name.startswith("next_")))
            return self._load_whole(name)
        return None

    def _load_whole(self, name: str) -> NDArray[Any]:
        arrays = [episode.arrays[_ARRAYS[name]] for episode in self._episodes]
        dtype = np.result_type(*{array.dtype for array in arrays})
        values = self.store.empty((self._n_rows, *arrays[0].shape[1:]), dtype)
        start = 1 if name == "next_observation" else 0
        for array, rows in zip(arrays, self._places(), strict=True):
            values[rows] = array[start : start + rows.stop - rows.start]
            release(values)
        return values

    def _load_leaf(self, leaf: Leaf, start: int) -> NDArray[Any]:
        parts = []
        for episode in self._episodes:
            array = episode.arrays[_name_leaf(leaf)]
            parts.append(leaf.spread(array[start : start + episode.length]))
        return np.concatenate(parts)

    def _places(self) -> Iterator[slice]:
        start = 0
        for episode in self._episodes:
            yield slice(start, start + episode.length)
            start += episode.length

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class Minari:
    """Datasets as Minari keeps them: no suffix, but a directory or an identifier. Read-only."""

    suffixes: tuple[str, ...] = ()
    native = True

    def locate(self, name: str | os.PathLike[str], problems: Problems) -> Path | None:
        """Return the directory of a dataset's files, or None if `name` is none or after reporting.

        Args:
            name: `minari:` and the identifier of a dataset that was downloaded or collected here,
                or the path of a dataset.
            problems: Receives what is wrong with an identifier.
        """
        text = os.fspath(name)
        if not text.startswith(PREFIX):
            places = (path for path in (Path(text), Path(text) / "data") if _is_dataset(path))
            return next(places, None)
        identifier = text.removeprefix(PREFIX)
        parts = identifier.split("/")
        if not all(re.fullmatch(r"[\w.-]+", part) and part.strip(".") for part in parts):
            problems.add(
                f"{show(identifier)} is no identifier", "write it as minari:mujoco/ant/expert-v0"
            )
            return None
        root = os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets"
        path = Path(root, *parts, "data")
        if _is_dataset(path):
            return path
        problems.add(
            "is not on this machine",
            f"download it first: minari download {identifier} "
            "(pip install 'nacre[minari]' brings it)",
        )
        return None

    def open(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> MinariSource | None:
        """Open a dataset by the directory of its files, after looking at every episode's shape."""
        metadata, leaves = _read_metadata(path / _METADATA, problems)
        if problems:
            return None
        file = open_hdf5(path / _MAIN, problems)
        if file is None:
            return None
        episodes: list[_Episode] = []
        with report_damage(problems):
            episodes = _find_episodes(file, path, leaves, problems)
        if problems:
            file.close()
            return None
        return MinariSource(file, episodes, metadata, problems, store, leaves)

    def estimate_bytes(self, path: Path) -> int:
        """Return about how much memory the arrays of a log would take."""
        return 2 * (path / _MAIN).stat().st_size


def _find_episodes(
    file: Any, path: Path, leaves: Sequence[Leaf], problems: Problems
) -> list[_Episode]:
    """Return the episodes that have transitions, after looking at the arrays of all of them."""
    size = (path / _MAIN).stat().st_size
    names = sorted((int(m[1]), m[0]) for name in file if (m := _EPISODE.fullmatch(name)))
    checked = [_check_episode(file, name, size, leaves, problems) for _, name in names]
    if not checked:
        problems.add("has no episodes", "collect some with minari.DataCollector")
    episodes = [episode for episode in checked if episode is not None]
    if not problems:
        _check_shapes(episodes, [name for _, name in names], problems)
    return [episode for episode in episodes if episode.length]


def _name_leaf(leaf: Leaf) -> str:
    return "/".join(("observations", *leaf.path))


def _check_episode(
    file: Any, name: str, size: int, leaves: Sequence[Leaf], problems: Problems
) -> _Episode | None:
    """Return the arrays of an episode, or None after reporting what is wrong with one of them."""
    arrays = {}
    wanted = [array for array in dict.fromkeys(_ARRAYS.values()) if array != "observations"]
    wanted += [_name_leaf(leaf) for leaf in leaves] or ["observations"]
    for array in wanted:
        label = f"{name}/{array}"
        group, last = _descend(file[name], array)
        if group is None:
            problems.add("is missing", "write the dataset anew", column=label)
            continue
        refusal = find_refusal(group, last, size)
        if refusal is not None:
            problems.add(*refusal, column=label)
            continue
        arrays[array] = group[last]
    if len(arrays) < len(wanted):
        return None
    length = len(arrays["rewards"])
    for array, values in arrays.items():
        expected = length + array.startswith("observations")
        if len(values) != expected:
            problems.add(
                f"has {len(values)} rows where {expected} are expected",
                "write the dataset anew",
                column=f"{name}/{array}",
            )
    return _Episode(arrays, length)


def _descend(group: Any, name: str) -> tuple[Any, str]:
    """Return the group that holds an array and its name there; no group if it is not there."""
    *above, last = name.split("/")
    for part in above:
        own = hasattr(group, "keys") and is_own(group, part)
        group = group[part] if own and part in group else None
    found = group is not None and hasattr(group, "keys") and last in group
    return (group if found else None), last


def _check_shapes(episodes: list[_Episode], names: list[str], problems: Problems) -> None:
    first = episodes[0].arrays
    for episode, name in zip(episodes, names, strict=True):
        for array, values in episode.arrays.items():
            if values.shape[1:] != first[array].shape[1:]:
                problems.add(
                    f"has rows of shape {values.shape[1:]} where {first[array].shape[1:]} is "
                    "expected",
                    "write the dataset anew",
                    column=f"{name}/{array}",
                )


def _read_metadata(path: Path, problems: Problems) -> tuple[Metadata, list[Leaf]]:
    try:
        document = parse_json(path.read_bytes(), largest=_LARGEST_METADATA)
        form = document.get("data_format", "hdf5")
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        problems.add(
            f"has no readable {_METADATA} ({show(str(error))})", "download the dataset anew"
        )
        return Metadata(), []
    if form != "hdf5":
        problems.add(
            f"is kept as {show(form)}", "write it with data_format='hdf5', the form that is read"
        )
    spaces: dict[str, Space[Any]] = {}
    leaves: list[Leaf] = []
    for name in ("observation", "action"):
        try:
            told = _parse_space(document.get(f"{name}_space"))
            if name == "observation" and not _is_plain(told):
                leaves = list_leaves(told)
            else:
                spaces[name] = _read_space(told)
        except KeyError as error:
            problems.add(f"has the {name} space without {error}", "download the dataset anew")
        except UNREADABLE as error:
            problems.add(
                f"has the {name} space {error}",
                "collect with a wrapper of Gymnasium that makes it a Box or Discrete from 0",
            )
    texts: dict[str, JSON] = {n: document[n] for n in _TOLD if isinstance(document.get(n), str)}
    return Metadata(spaces, {"minari": texts}), leaves


def _parse_space(text: Any) -> Any:
    form = json.loads(text) if isinstance(text, str) else text
    if not isinstance(form, Mapping):
        raise SpaceError(f"{form!r:.60}")
    return form


def _is_plain(form: Any) -> bool:
    """Whether a log keeps such observations as they are; else they are flattened."""
    if form.get("type") == "Box":
        return len(form["shape"]) == 1
    return bool(form.get("type") == "Discrete" and form.get("start", 0) == 0)


def _read_space(form: Any) -> Space[Any]:
    kind = form["type"]
    if kind == "Discrete" and not form.get("start"):
        return space_from_json({"type": "discrete", "n": form["n"]})
    if kind in ("Discrete", "MultiDiscrete"):
        sizes = np.ravel(form["nvec" if kind == "MultiDiscrete" else "n"])
        return MultiDiscrete(sizes, start=np.ravel(form.get("start") or np.zeros_like(sizes)))
    if kind != "Box":
        raise SpaceError(str(kind))
    if len(form["shape"]) != 1:
        raise SpaceError(f"Box of shape {tuple(form['shape'])}")
    return space_from_json({"type": "box", "low": form["low"], "high": form["high"]})


MINARI = Minari()
