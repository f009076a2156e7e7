"""The word "clone"."""

from nacre.policies import (
    CloneConfig,
    MLPPolicy,
    PolicyOptions,
    read_policy_with_provenance,
)
from tests.support.policies import choose_actions, make_column_log

QUICK = CloneConfig(hidden=(16,), n_steps=500, batch_size=128)


def test_the_word_clone() -> None:
    rows, _, actions = choose_actions(1000)
    log = make_column_log(actions, {}, observations=rows)
    policy, provenance = read_policy_with_provenance(
        "clone", PolicyOptions(log=log, clone=QUICK, seed=5)
    )
    assert isinstance(policy, MLPPolicy)
    assert provenance["source"] == "clone"
    assert provenance["report"]["log_likelihood"] > provenance["report"]["baseline"]
