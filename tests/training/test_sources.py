"""A log becomes the source that fits it: on the device, or in its files."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

from nacre.logs import read_log, write_log
from nacre.logs.storage import stores
from nacre.training.batches import BatchSource
from nacre.training.mapped import MappedTransitions
from nacre.training.sources import open_source
from nacre.training.transitions import Transitions
from tests.support.learners import make_vectors


def test_both_sources_stream_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a step draws has the same bits, whichever source was opened; targets included."""
    log, policy = make_vectors()
    monkeypatch.setattr(stores, "SMALL_BYTES", 0)
    write_log(log, tmp_path / "log.parquet")
    mapped = read_log(tmp_path / "log.parquet", cache_dir=tmp_path / "cache")
    here, there = open_source(log, discount=0.9), open_source(mapped, discount=0.9)
    assert isinstance(here, Transitions)
    assert isinstance(there, MappedTransitions)
    targets = np.arange(len(log), dtype=np.float64)
    sources: list[BatchSource] = [source.with_targets(targets) for source in (here, there)]
    key = jax.random.key(0)
    drawn = []
    for source in sources:
        with source.open_stream(lambda rows, key: rows.sample(key, 6), 4) as stream:
            ((rows, n_steps),) = stream.chunks(key)
            assert n_steps == 4
            step_keys = [jax.random.fold_in(key, i) for i in range(n_steps)]
            drawn.append(
                [rows.at(jax.numpy.asarray(i)).sample(k, 6) for i, k in enumerate(step_keys)]
            )
    jax.tree.map(np.testing.assert_array_equal, *drawn)
    assert drawn[0][0].targets is not None
    # Only rows on the device can be told once and for all what policies do at them.
    assert here.ask_next(policy)[1] is None
    assert there.ask_next(policy) == (there, policy)
    assert there.ask_old(policy) is there
