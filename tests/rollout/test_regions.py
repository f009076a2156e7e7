"""Regions that are found in a log."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.errors import InputError
from nacre.logs import Log
from nacre.rollout.regions import find_known, find_region
from tests.support.rollout import play

CENTRES = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 100.0]])


def make_log(n: int = 300) -> Log:
    rng = np.random.default_rng(100)
    states = (CENTRES[np.arange(n) % 3] + rng.normal(size=(n, 2)) * [1.0, 5.0]).astype(np.float32)
    return Log.from_arrays(
        states,
        np.zeros(n, int),
        np.zeros(n),
        np.ones(n, bool),
        next_observations=states,
        offsets=np.arange(n + 1),
        observation_space=Box(-np.inf, np.inf, (2,)),
        action_space=Discrete(2),
        provenance={"columns": {"observation": ["queue", "speed"]}},
    )


def test_clusters_are_those_of_the_states() -> None:
    log = make_log()
    homes = np.arange(len(log)) % 3
    found = [
        np.asarray(find_region(f"cluster {k} of 3", log).holds(jnp.asarray(log.observations)))
        for k in (1, 2, 3)
    ]
    # Each state is in one of them, and each is one of the three groups.
    assert np.all(np.sum(found, axis=0) == 1)
    assert all(len(np.unique(homes[one])) == 1 for one in found)


def test_known_states_are_near_to_others() -> None:
    log = make_log()
    region = find_known(log)
    own = np.asarray(region.holds(jnp.asarray(log.observations)))
    assert own.mean() > 0.97
    far = jnp.asarray([[60.0, 0.0], [0.0, -300.0], [10.0, 100.0]])
    assert not np.any(region.holds(far))
    numbered = find_known(play([False] * 4))
    assert numbered.states == (0, 1)


def test_columns_have_names() -> None:
    region = find_region("speed >= 50", make_log())
    assert (region.coordinate, region.limit) == (1, 50.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cluster 4 of 3", "give cluster 1 of 2"),
        ("cluster 1 of 99", "give cluster 1 of 2"),
        ("height >= 3", "expected NAME >= NUMBER"),
    ],
)
def test_what_is_no_region_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        find_region(text, make_log())
    with pytest.raises(InputError, match="clusters are of vectors"):
        find_region("cluster 1 of 2", play([False] * 4))
