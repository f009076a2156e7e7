"""The word "clone"."""

import numpy as np

from nacre.logs import Log
from nacre.policies import (
    CloneConfig,
    MLPPolicy,
    PolicyOptions,
    read_policy_with_provenance,
)

QUICK = CloneConfig(hidden=(16,), n_steps=500, batch_size=128)


def make_log(actions, columns, *, observations=None, space=None, n=None):
    n = n or len(actions)
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(n, 2)) if observations is None else observations
    return Log.from_arrays(
        rows,
        actions,
        np.zeros(n),
        np.ones(n, bool),
        next_observations=rows,
        action_space=space,
        columns=columns,
    )


def choose(n=600, seed=1):
    """Rows, the probabilities of two actions at them, and actions drawn so."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(n, 2)).astype(np.float32)
    share = 1 / (1 + np.exp(-2 * rows[:, 0]))
    return rows, np.stack([1 - share, share], axis=-1), (draw.random(n) < share).astype(int)


def test_the_word_clone():
    rows, _, actions = choose(1000)
    log = make_log(actions, {}, observations=rows)
    policy, provenance = read_policy_with_provenance(
        "clone", PolicyOptions(log=log, clone=QUICK, seed=5)
    )
    assert isinstance(policy, MLPPolicy)
    assert provenance["source"] == "clone"
    assert provenance["report"]["log_likelihood"] > provenance["report"]["baseline"]
