from __future__ import annotations

import numpy as np

from nacre.logs.checks.problems import Problems
from nacre.logs.formats.array_sources import ArraySource
from nacre.logs.schema.metadata import Metadata
from nacre.logs.storage.stores import MEMORY


def test_arrays_are_given_as_they_are() -> None:
    arrays = {"reward": np.arange(3.0), "phase": np.array(["red", "green", "red"])}
    source = ArraySource(arrays, Problems(), Metadata(provenance={"world": "a test"}))
    assert source.names == ["reward", "phase"]
    assert source.store is MEMORY
    assert source.metadata.provenance == {"world": "a test"}
    assert source.load("reward") is arrays["reward"]
    assert [source.is_numeric(name) for name in source.names] == [True, False]
    assert ArraySource(arrays, Problems()).metadata == Metadata()


def test_categories_are_numbered_or_reported() -> None:
    problems = Problems()
    source = ArraySource({"phase": np.array(["red", "green", "red"])}, problems)
    categories = source.load_categories("phase")
    assert categories is not None
    assert categories.values == ("red", "green")
    np.testing.assert_array_equal(categories.codes, [0, 1, 0])
    assert not problems
