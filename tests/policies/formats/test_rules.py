"""Rules in TOML."""

from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies import (
    Categorical,
    CloneConfig,
    Gaussian,
    Policy,
    RulePolicy,
    Signature,
    TabularPolicy,
    clone_policy,
    fingerprint,
    read_policy,
    write_policy,
)
from nacre.policies.heads import Head
from tests.support.policies import expect

TRAFFIC = Signature(Box(-np.inf, np.inf, (2,)), Discrete(3))
MOTOR = Signature(Box(-np.inf, np.inf, (2,)), Box(-1.0, 1.0, (1,)))


def make_log(signature: Signature = TRAFFIC, names: Sequence[str] = ("queue", "speed")) -> Log:
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    actions = [0, 1] if signature.discrete_actions else [[0.0], [0.5]]
    return Log.from_arrays(
        rows,
        actions,
        np.zeros(2),
        np.ones(2, bool),
        next_observations=rows,
        observation_space=signature.observation_space,
        action_space=signature.action_space,
        provenance={"columns": {"observation": list(names)}},
    )


def read(tmp_path: Path, text: str, acting: Signature = TRAFFIC, *, named: bool = True) -> Policy:
    path = tmp_path / "rule.toml"
    path.write_text(text, encoding="utf-8")
    if named:
        return read_policy(path, log=make_log(acting))
    return read_policy(path, signature=acting)


def refusal(tmp_path: Path, text: str, signature: Signature = TRAFFIC) -> str:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text, signature)
    assert all(p.startswith(f"{tmp_path / 'rule.toml'}: ") for p in caught.value.problems)
    return "\n".join(caught.value.problems)


FIRST_THAT_HOLDS = """
[[rule]]
when = { queue = { from = 5 }, speed = { below = 2.0 } }
action = 2

[[rule]]
when = { queue = { from = 5 } }
probabilities = [0.25, 0.75, 0.0]

[otherwise]
action = 0
"""


def test_the_first_rule_that_holds_decides(tmp_path: Path) -> None:
    policy = read(tmp_path, FIRST_THAT_HOLDS)
    assert isinstance(policy, RulePolicy)
    rows = jnp.array([[5.0, 1.0], [5.0, 2.0], [4.99, 1.0]])
    expected = [[0.0, 0.0, 1.0], [0.25, 0.75, 0.0], [1.0, 0.0, 0.0]]
    np.testing.assert_allclose(expect(Categorical, policy(rows)).probabilities, expected, atol=1e-6)
    compiled = jax.jit(lambda rows: expect(Categorical, policy(rows)).probabilities)(rows[None])
    np.testing.assert_allclose(compiled, [expected], atol=1e-6)


@pytest.mark.parametrize(
    ("bound", "inside", "outside"),
    [
        ("above = 0.1", [0.11, 1e9], [0.1, -1.0]),
        ("from = 0.1", [0.1, 1e9], [0.0999]),
        ("below = 0.1", [0.0999, -1e9], [0.1]),
        ("to = 0.1", [0.1, -1e9], [0.11]),
        ("equals = 0.1", [0.1], [0.0999, 0.1001]),
        ("above = 0.1, to = 0.2", [0.15, 0.2], [0.1, 0.21]),
    ],
)
def test_bounds(tmp_path: Path, bound: str, inside: list[float], outside: list[float]) -> None:
    text = f"[[rule]]\nwhen = {{ queue = {{ {bound} }} }}\naction = 1\n[otherwise]\naction = 0\n"
    policy = read(tmp_path, text)
    for values, action in ((inside, 1), (outside, 0)):
        rows = jnp.array([[value, 0.0] for value in values], jnp.float32)
        assert policy(rows).mode().tolist() == [action] * len(values)


def test_a_table(tmp_path: Path) -> None:
    text = """
    [table]
    columns = { speed = [1.0], queue = [2, 5] }
    action = [[0, 1, 1], [0, 2, 2]]
    """
    policy = read(tmp_path, text)
    rows = jnp.array([[1.9, 0.0], [2.0, 0.0], [9.0, 0.9], [1.0, 1.0], [5.0, 1.0]])
    assert policy(rows).mode().tolist() == [0, 1, 1, 0, 2]


def test_a_randomised_table(tmp_path: Path) -> None:
    text = """
    [table]
    columns = { queue = [2] }
    probabilities = [[0.5, 0.5, 0.0], [0.0, 0.1, 0.9]]
    """
    said = expect(
        Categorical, read(tmp_path, text)(jnp.array([[0.0, 0.0], [2.0, 0.0]]))
    ).probabilities
    np.testing.assert_allclose(said, [[0.5, 0.5, 0.0], [0.0, 0.1, 0.9]], atol=1e-6)


def test_action_vectors_certain_and_noisy(tmp_path: Path) -> None:
    text = "[[rule]]\nwhen = {{ queue = 1 }}\n{}\n[otherwise]\n{}\n"
    rows = jnp.array([[1.0, 0.0], [0.0, 0.0]])
    policy = read(tmp_path, text.format("action = [0.5]", "action = [-0.5]"), MOTOR)
    np.testing.assert_allclose(policy(rows).mode(), [[0.5], [-0.5]])
    noisy = "mean = [0.5]\nstd = [0.1]", "mean = [0.0]\nstd = [0.2]"
    policy = read(tmp_path, text.format(*noisy), MOTOR)
    assert expect(RulePolicy, policy).head == "clipped_gaussian"
    np.testing.assert_allclose(expect(Gaussian, policy(rows)).std, [[0.1], [0.2]], rtol=1e-6)


def test_discrete_observations(tmp_path: Path) -> None:
    signature = Signature(Discrete(4), Discrete(2))
    text = "[table]\ncolumns = { observation = [2] }\naction = [0, 1]\n"
    policy = read(tmp_path, text, signature, named=False)
    assert policy(jnp.arange(4)).mode().tolist() == [0, 0, 1, 1]


def test_columns_without_names_are_numbered(tmp_path: Path) -> None:
    text = "[table]\ncolumns = { observation_1 = [2] }\naction = [0, 1]\n"
    policy = read(tmp_path, text, TRAFFIC, named=False)
    assert policy(jnp.array([[9.0, 0.0], [0.0, 9.0]])).mode().tolist() == [0, 1]


def test_rules_can_be_cloned(tmp_path: Path) -> None:
    policy = expect(RulePolicy, read(tmp_path, FIRST_THAT_HOLDS))
    rows = np.random.default_rng(0).normal(4.0, 2.0, (2000, 2)).astype(np.float32)
    config = CloneConfig(hidden=(16,), n_steps=600)
    clone, match = clone_policy(policy, rows, jax.random.key(0), config)
    assert clone.head == "categorical"
    assert match.agreement > 0.9


def test_fingerprints_follow_the_content(tmp_path: Path) -> None:
    one = read(tmp_path, FIRST_THAT_HOLDS)
    other = read(tmp_path, FIRST_THAT_HOLDS.replace("from = 5", "from = 6"))
    assert fingerprint(one) == fingerprint(read(tmp_path, "# a remark\n" + FIRST_THAT_HOLDS))
    assert fingerprint(one) != fingerprint(other)


OTHERWISE = "[otherwise]\naction = 0\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rule = ", "cannot be read as TOML"),
        ("[policy]\n", "unknown entry 'policy'"),
        ("rule = 3\n" + OTHERWISE, "under [[rule]]"),
        ("[[rule]]\nwhen = { queue = 1 }\naction = 0\n", "[otherwise] is missing"),
        ("[[rule]]\naction = 0\n" + OTHERWISE, "rule 1: has no condition; write when ="),
        (
            "[[rule]]\nwhen = { quue = 1 }\naction = 0\n" + OTHERWISE,
            "rule 1: there is no column 'quue'; there are queue, speed",
        ),
        (
            "[[rule]]\nwhen = { queue = { over = 1 } }\naction = 0\n" + OTHERWISE,
            "over = 1; give numbers for above, from",
        ),
        (
            "[[rule]]\nwhen = { queue = { from = 'a' } }\naction = 0\n" + OTHERWISE,
            "from = 'a'",
        ),
        (
            "[[rule]]\nwhen = { queue = { from = nan } }\naction = 0\n" + OTHERWISE,
            "is not finite",
        ),
        (
            "[[rule]]\nwhen = { queue = { from = 3, below = 2 } }\naction = 0\n" + OTHERWISE,
            "no number satisfies",
        ),
        ("[[rule]]\nwhen = { queue = 1 }\n" + OTHERWISE, "rule 1: give either an action"),
        ("[otherwise]\naction = 0\nodds = 1\n", "otherwise: unknown entry 'odds'"),
        ("[otherwise]\naction = 5\n", "give a whole number from 0 to 2"),
        ("[otherwise]\nprobabilities = [0.5, 0.6, 0.0]\n", "must add up to one"),
        ("[otherwise]\nprobabilities = [0.5, 0.5]\n", "expected (1, 3)"),
        ("[otherwise]\naction = 'left'\n", "give a whole number from 0 to 2"),
        ("[otherwise]\nmean = [0.5]\nstd = [0.1]\n", "does not fit the action space"),
        ("[table]\naction = [0]\n", "table: columns ="),
        ("[table]\ncolumns = { queue = [] }\naction = [0]\n", "give a list of thresholds"),
        ("[table]\ncolumns = { x = [1] }\naction = [0, 1]\n", "there is no such column"),
        ("[table]\ncolumns = { queue = [1] }\naction = [0]\n", "nested lists of the shape (2,)"),
        ("[table]\ncolumns = { queue = [2, 1] }\naction = [0, 1, 2]\n", "no number satisfies"),
        (
            "[table]\ncolumns = { queue = [1] }\naction = [0, 1]\n" + OTHERWISE,
            "a [table] decides everywhere",
        ),
    ],
)
def test_rules_with_a_mistake(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in refusal(tmp_path, text)


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    text = "[[rule]]\naction = 0\n[[rule]]\nwhen = { x = 1 }\naction = 0\n[otherwise]\n"
    problems = refusal(tmp_path, text).splitlines()
    assert len(problems) == 3


def test_certain_and_noisy_vectors_do_not_mix(tmp_path: Path) -> None:
    text = "[[rule]]\nwhen = { queue = 1 }\naction = [0.5]\n[otherwise]\nmean = [0]\nstd = [1]\n"
    assert "give mean and std everywhere" in refusal(tmp_path, text, MOTOR)


def test_tables_of_many_cells(tmp_path: Path) -> None:
    cuts = ", ".join(map(str, range(150)))
    text = f"[table]\ncolumns = {{ queue = [{cuts}], speed = [{cuts}] }}\naction = [[0]]\n"
    assert "use at most 10,000" in refusal(tmp_path, text)


def test_the_spaces_are_needed(tmp_path: Path) -> None:
    path = tmp_path / "rule.toml"
    path.write_text(OTHERWISE, encoding="utf-8")
    with pytest.raises(InputError, match="give log="):
        read_policy(path)


@pytest.mark.parametrize("named", [True, False])
def test_a_rule_is_written_and_read_again(tmp_path: Path, named: bool) -> None:
    """A file that numbers the coordinates is read with any log."""
    lower = jnp.asarray([[-np.inf, 0.25], [-np.inf, -np.inf]])
    upper = jnp.asarray([[1.5, np.inf], [np.inf, 3.0]])
    outputs = jnp.log(jnp.asarray([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]]))
    heads: tuple[Head, ...] = ("greedy", "categorical")
    for head in heads:
        rule = RulePolicy(lower, upper, outputs, TRAFFIC, head)
        write_policy(rule, tmp_path / "rule.toml")
        again = read(tmp_path, (tmp_path / "rule.toml").read_text("utf-8"), named=named)
        rows = jnp.asarray(np.random.default_rng(0).normal(1.0, 2.0, (50, 2)), jnp.float32)
        expected, found = (expect(Categorical, one(rows)).probabilities for one in (rule, again))
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_only_rules_of_discrete_actions_are_written_as_rules(tmp_path: Path) -> None:
    table = TabularPolicy.from_probabilities(np.eye(2))
    with pytest.raises(InputError, match="a TabularPolicy is no rule"):
        write_policy(table, tmp_path / "rule.toml")
