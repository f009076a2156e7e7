"""cost.toml: what is read, what is refused and with which words, and the way back."""

from __future__ import annotations

import json
import math
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from nacre.costs import (
    Difference,
    FiniteStates,
    GeneralTransport,
    GeneralTransportCost,
    GlobalCost,
    LocalCost,
    LogStates,
    Rule,
    RuleImportance,
    StateMeasure,
    StatewiseCost,
    SwitchingCost,
    TableImportance,
    TransportCost,
    UniformBox,
    WeightedStates,
    build_cost,
    describe_cost,
    format_cost,
    groups,
    parse_cost,
    read_cost,
    write_cost,
)
from nacre.costs.groups import ActionGroups
from nacre.errors import InputError

PLAIN = """
kind = "transport"
learning_weight = 5.0
transaction_weight = 0.1
[groups]
kind = "sign"
"""


def problems_of(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        parse_cost(text, "f.toml")
    for problem in caught.value.problems:
        assert problem.startswith("f.toml: ")
        assert "\n" not in problem
    return [problem.removeprefix("f.toml: ") for problem in caught.value.problems]


def problem_of(text: str) -> str:
    problems = problems_of(text)
    assert len(problems) == 1
    return problems[0]


def test_plain_transport_cost_has_the_defaults_of_python() -> None:
    assert parse_cost(PLAIN) == TransportCost(5.0, 0.1, groups.sign(0))


def test_whole_numbers_serve_as_numbers() -> None:
    assert parse_cost(PLAIN.replace("5.0", "5")).learning_weight == 5.0


COSTS = [
    TransportCost(5.0, 0.1, groups.sign(2)),
    TransportCost(1.0, 1.0, groups.halves(), state_measure=LogStates(7)),
    TransportCost(2.0, 0.0, groups.indices([[0, 3], [1], [2]]), link="times_states"),
    TransportCost(
        2.0,
        0.5,
        groups.thresholds({0: [-0.5, 0.25], 3: [1e-9]}),
        state_measure=UniformBox(12.5, 50),
        link="positive",
    ),
    TransportCost(
        2.0,
        0.5,
        groups.boxes(
            [
                {0: (-math.inf, 0.0)},
                {0: (0.0, math.inf), 1: (-math.inf, 0.5)},
                {0: (0.0, math.inf), 1: (0.5, math.inf)},
            ]
        ),
        importance=RuleImportance((Rule(3, 4.0, above=0.5), Rule(0, 0.0, -1.0, 1.0)), 2.0),
    ),
    # A coordinate that no box bounds, which thresholds cannot say.
    TransportCost(
        1.0,
        groups=groups.boxes(
            [{0: (-math.inf, 0.0), 1: (-math.inf, math.inf)}, {0: (0.0, math.inf)}]
        ),
    ),
    GeneralTransportCost(3.0, 1.0, groups.sign(0), state_measure=FiniteStates((0.25, 0.75))),
    GeneralTransportCost(
        3.0,
        1.0,
        groups.halves(),
        learning_ground=[[0.0, 1.0], [2.0, 0.0]],
        transaction_ground="squared_l2",
        plan="optimal",
        n_samples=4,
        importance=TableImportance((1.0, 2.0)),
    ),
    LocalCost(),
    LocalCost(2.5),
    GlobalCost(),
    GlobalCost(7.0),
    SwitchingCost(Difference(1e-3), 2.0, importance=RuleImportance((Rule(1, 3.0, below=0.0),))),
    SwitchingCost(Difference(), 2.0, state_measure=FiniteStates(), link="positive"),
]


@pytest.mark.parametrize("cost", COSTS, ids=range(len(COSTS)))
def test_every_cost_survives_the_way_to_the_file_and_back(
    cost: SwitchingCost, tmp_path: Path
) -> None:
    path = tmp_path / "cost.toml"
    write_cost(cost, path)
    assert read_cost(path) == cost
    assert hash(read_cost(path)) == hash(cost)
    described = json.loads(json.dumps(describe_cost(cost), allow_nan=False))
    assert build_cost(described) == cost


@pytest.mark.parametrize("states", [[[0.5, -1.0], [2.0, 3.0]], [4, 0]], ids=["vectors", "numbers"])
@pytest.mark.parametrize("weights", [None, [0.25, 0.75]])
def test_given_states_survive_the_way_to_the_file_and_back(
    states: list[object], weights: list[float] | None
) -> None:
    measure = WeightedStates(np.asarray(states), None if weights is None else np.asarray(weights))
    cost = TransportCost(5.0, 0.1, groups.sign(0), state_measure=measure)
    again = parse_cost(format_cost(cost)).state_measure
    assert isinstance(again, WeightedStates)
    np.testing.assert_array_equal(again.states, states)
    assert again.states.dtype == (np.float32 if isinstance(states[0], list) else np.int32)
    np.testing.assert_array_equal(again.weights, measure.weights)


def test_the_shortest_form_of_groups_is_chosen() -> None:
    def kind(of: ActionGroups) -> str:
        return str(describe_cost(TransportCost(1.0, groups=of))["groups"]["kind"])

    free = (-math.inf, math.inf)
    assert kind(groups.boxes([{1: (-math.inf, 0.0)}, {1: (0.0, math.inf)}])) == "sign"
    assert kind(groups.boxes([{1: (-math.inf, 2.0)}, {1: (2.0, math.inf)}])) == "thresholds"
    assert kind(groups.boxes([{1: (0.0, math.inf)}, {1: (-math.inf, 0.0)}])) == "boxes"
    assert kind(groups.boxes([{1: (-math.inf, 0.0), 2: free}, {1: (0.0, math.inf)}])) == "boxes"


def test_general_plan_is_read_whole() -> None:
    text = PLAIN.replace("transport", "general") + (
        '[plan]\nlearning_ground = "one"\ntransaction_ground = [[0, 1], [1, 0]]\n'
        'coupling = "optimal"\nn_samples = 3\n'
    )
    assert parse_cost(text).statewise == GeneralTransport(
        groups.sign(0), "one", ((0.0, 1.0), (1.0, 0.0)), "optimal", 3
    )


def test_box_bounds_may_be_written_as_infinite() -> None:
    boxes = (
        'kind = "boxes"\nboxes = [[{coordinate=0, above=-inf, up_to=0}], [{coordinate=0, above=0}]]'
    )
    assert parse_cost(PLAIN.replace('kind = "sign"', boxes)) == parse_cost(PLAIN)


def importance_of(text: str) -> object:
    return parse_cost(f"{PLAIN}[importance]\n{text}").importance


def test_importance_rules_are_read_in_order() -> None:
    text = "default = 2\n[[importance.rules]]\ncoordinate = 3\nabove = 0.5\nweight = 4\n"
    assert importance_of(text) == RuleImportance((Rule(3, 4.0, above=0.5),), 2.0)
    assert importance_of("") == RuleImportance((), 1.0)
    assert importance_of("weights = [1, 0]") == TableImportance((1.0, 0.0))


class OwnGroups(ActionGroups):
    """Groups that a file cannot hold."""

    def mass_of(self, distribution):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    def names(self, action_space):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    def atoms(self, distribution, key, n):  # type: ignore[no-untyped-def]
        raise NotImplementedError


class OwnStatewise(StatewiseCost):
    """A comparison that a file cannot hold."""

    def compare(self, old, new, key, states=None):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    def group_names(self, action_space):  # type: ignore[no-untyped-def]
        raise NotImplementedError


class OwnMeasure(StateMeasure):
    """A measure that a file cannot hold."""

    def draw(self, key, n, observations, space):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    def support(self, key, observations, space):  # type: ignore[no-untyped-def]
        raise NotImplementedError


def weigh(states: Array) -> Array:
    return states


def measure_distances(x: Array, y: Array) -> Array:
    return x - y


def test_code_is_described_by_its_name_and_has_no_file_form() -> None:
    cost = SwitchingCost(
        OwnStatewise(), 1.0, state_measure=OwnMeasure(), importance=weigh, link=jnp.square
    )
    described = describe_cost(cost)
    assert described["kind"].endswith("test_toml.OwnStatewise")
    assert described["states"]["measure"].endswith("test_toml.OwnMeasure")
    assert described["importance"]["function"].endswith("test_toml.weigh")
    assert described["link"].endswith("square")
    own = GeneralTransportCost(1.0, groups=OwnGroups(), learning_ground=measure_distances)
    assert describe_cost(own)["groups"]["kind"].endswith("test_toml.OwnGroups")
    assert describe_cost(own)["plan"]["learning_ground"].endswith("test_toml.measure_distances")
    for without_form in (cost, own):
        with pytest.raises(InputError, match="has no file form, a part of it is Python code"):
            format_cost(without_form)


def test_many_given_states_are_described_by_number_and_digest() -> None:
    def describe(states: np.ndarray, weights: np.ndarray | None) -> dict[str, object]:
        measure = WeightedStates(states, weights)
        cost = TransportCost(1.0, groups=groups.sign(0), state_measure=measure)
        return dict(describe_cost(cost)["states"])

    rows = np.zeros((1001, 2), np.float32)
    plain, weighted = describe(rows, None), describe(rows, np.full(1001, 1 / 1001))
    assert plain["count"] == 1001
    assert len({plain["sha256"], weighted["sha256"], describe(rows + 1, None)["sha256"]}) == 3


WRONG = {
    'kind = "transprt"': "kind = 'transprt' is unknown (did you mean transport?); known:",
    "kind = 3": "kind = 3 is unknown; known: transport, general, difference, local, global",
    "": "kind is missing; expected one of transport, general, difference, local, global",
    'kind = "local"\nweigth = 3': "weigth is unknown (did you mean weight?); known here: gu",
    'kind = "local"\n"a b" = 3': "'a b' is unknown; known here: guardrail, kind, segments, va",
    'kind = "global"\nweight = -1': "weight = -1: expected at least 0",
    'kind = "transport"\nlearning_weight = 1': "groups is missing; add a table [groups], e.g.",
    PLAIN + "[plan]\n": "plan is unknown (it belongs to kind general); known here: groups,",
    PLAIN.replace("5.0", "'5'"): "learning_weight = '5': expected a number",
    PLAIN.replace("5.0", "true"): "learning_weight = True: expected a number",
    PLAIN.replace("5.0", "nan"): "learning_weight = nan: expected a finite number",
    PLAIN.replace("5.0", "1" + "0" * 400): "learning_weight = 1000000000",
    PLAIN.replace("5.0", "1" + "0" * 5000): "holds a number too long or lists too deep",
    PLAIN.replace("5.0", "-1.0"): "learning_weight = -1.0: a price must be finite and not neg",
    PLAIN.replace("5.0", "0.05"): "learning_weight = 0.05 is below transaction_weight = 0.1: it",
    PLAIN.replace("learning_weight = 5.0", ""): "learning_weight is missing; give the price of",
    "link = 'sqrt'"
    + PLAIN: "link = 'sqrt' is unknown; give identity, times_states, positive, or an",
    PLAIN.replace(
        '[groups]\nkind = "sign"', "groups = 'sign'"
    ): "groups = 'sign': expected a table",
    PLAIN.replace('kind = "sign"', ""): "groups.kind is missing; expected one of sign, thresholds",
    PLAIN.replace("sign", "sing"): "groups.kind = 'sing' is unknown (did you mean sign?); known: ",
    PLAIN + "coordinat = 1": "groups.coordinat is unknown (did you mean coordinate?); known here:",
    PLAIN + "coordinate = 1.5": "groups.coordinate = 1.5: expected a whole number",
    PLAIN + "coordinate = -1": "groups.coordinate = -1: expected at least 0",
    PLAIN + "[states]\nmeasure = 'logs'": "states.measure = 'logs' is unknown (did you mean log?)",
    PLAIN + "[states]\nn = 3": "states.measure is missing; expected one of log, box, finite, given",
    PLAIN + "[states]\nmeasure = 'log'\nn = 0": "states.n = 0: expected at least 1",
    PLAIN + "[states]\nmeasure = 'box'\nlimit = 0": "states.limit = 0: expected a number above 0",
    PLAIN + "[states]\nmeasure = 'finite'\nweights = [1, 1]": "states: state weights must be fin",
    PLAIN + "[states]\nmeasure = 'finite'\nweight = [1]": "states.weight is unknown (did you mean",
    PLAIN + "[states]\nmeasure = 'given'\nstates = 3": "states.states = 3: expected a list",
    PLAIN + "[states]\nmeasure = 'given'\nstates = [1, 'x']": "states.states[1] = 'x': expected a",
    PLAIN + "[states]\nmeasure = 'given'\nstates = [[1], 2]": "states.states[1] = 2: expected a l",
    PLAIN + "[states]\nmeasure = 'given'\nstates = [[1], [2, 3]]": "states.states: the states diff",
    PLAIN + "[states]\nmeasure = 'given'\nstates = []": "states: a state measure needs at least",
    PLAIN
    + "[states]\nmeasure = 'given'\nstates = [1]\nweights = [0.5, 0.5]": "states: 2 weights f",
    PLAIN + "[importance]\nweight = [1]": "importance.weight is unknown (did you mean weights?)",
    PLAIN + "[importance]\nweights = []": "importance: the list of weights is empty; give one a",
    PLAIN + "[importance]\nweights = [1]\ndefault = 1": "importance: weights is for discrete stat",
    PLAIN + "[importance]\nrules = [{coordinate = 0, abov = 1, weight = 1}]": (
        "importance.rules[0].abov is unknown (did you mean above?); known here: above, below,"
    ),
    PLAIN + "[importance]\nrules = [{coordinate = 0, weight = 1}]": "importance: the rule for coo",
    PLAIN + "[importance]\nrules = [{coordinate = 0, above = 1}]": "importance.rules[0].weight is",
    PLAIN + "[importance]\nrules = [{coordinate = 0, above = 1, below = 1, weight = 1}]": (
        "importance: no number lies above 1 and below 1; mend the bounds of coordinate 0"
    ),
}


WRONG |= {
    PLAIN.replace("learning_weight = 5.0", given): f"{given}: {expected}"
    for given, expected in {
        "learning_weight = [8, 3]": "the range goes from high to low",
        "learning_weight = [1, 2, 3]": "give a number, a range [low, high], or {",
        "learning_weight = [-1, 2]": "a price must be finite and not negative",
    }.items()
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_each_problem_is_one_line_with_key_value_and_expectation(text: str) -> None:
    assert problem_of(text).startswith(WRONG[text])


GROUPS = {
    "kind = 'thresholds'\ncuts = []": "groups.cuts = []: expected at least 1 entry",
    "kind = 'thresholds'\ncuts = [{coordinate = 0, at = []}]": "groups.cuts[0].at = []: expect",
    "kind = 'thresholds'\ncuts = [{coordinate = 0, att = [1]}]": "groups.cuts[0].at is missing",
    "kind = 'thresholds'\ncuts = [{coordinate = 0, at = [1, 0]}]": "groups: thresholds [1.0, 0.0]",
    "kind = 'thresholds'\ncuts = [{coordinate=0, at=[1]}, {coordinate=0, at=[2]}]": (
        "groups.cuts: coordinate 0 is cut twice; join the two lists"
    ),
    "kind = 'boxes'\nboxes = [[{coordinate=0, upto=1}]]": "groups.boxes[0][0].upto is unknown (did",
    "kind = 'boxes'\nboxes = [[{coordinate=0, up_to=1}], [{coordinate=0}]]": "groups: not a partit",
    "kind = 'boxes'\nboxes = [[{coordinate=0}, {coordinate=0}]]": "groups.boxes[0]: coordinate 0 h",
    "kind = 'boxes'\nboxes = [[]]": "groups: 1 given",
    "kind = 'indices'\nsets = [[0, 1], [1]]": "groups: action 1 is in group 0 and in group 1; keep",
    "kind = 'indices'\nsets = [[0], [-1]]": "groups.sets[1][0] = -1: expected at least 0",
    "kind = 'halves'\nof = 2": "groups.of is unknown; known here: kind",
}


@pytest.mark.parametrize("text", GROUPS, ids=range(len(GROUPS)))
def test_wrong_groups_are_refused(text: str) -> None:
    assert problems_of(PLAIN.replace('kind = "sign"', text))[0].startswith(GROUPS[text])


PLANS = {
    "learning_ground = 'l3'": "plan.learning_ground = 'l3' is unknown; known: l2, squared_l2, one",
    "learning_ground = 3": "plan.learning_ground = 3 is unknown; known: l2, squared_l2, one",
    "transaction_ground = [[0, 'a']]": "plan.transaction_ground[0][1] = 'a': expected a number",
    "learning_ground = [[0, 1], [1]]": "plan: learning_ground: the ground cost matrix is not squ",
    "coupling = 'optimol'": "plan.coupling = 'optimol' is unknown (did you mean optimal?); known:",
    "n_sample = 3": "plan.n_sample is unknown (did you mean n_samples?); known here: coupling,",
    "n_samples = 0": "plan.n_samples = 0: expected at least 1",
}


@pytest.mark.parametrize("text", PLANS, ids=range(len(PLANS)))
def test_wrong_plans_are_refused(text: str) -> None:
    general = PLAIN.replace("transport", "general")
    assert problem_of(f"{general}[plan]\n{text}").startswith(PLANS[text])


def test_all_problems_are_found_not_only_the_first() -> None:
    text = PLAIN.replace("5.0", "'a'").replace("0.1", "'b'") + "coordinate = 'c'\nmore = 1"
    assert [problem.split(" ")[0] for problem in problems_of(text)] == [
        "learning_weight",
        "transaction_weight",
        "groups.coordinate",
        "groups.more",
    ]
    text = PLAIN.replace("5.0", "0.0").replace(
        'kind = "sign"', "kind = 'indices'\nsets = [[0]]\n[states]\nmeasure='finite'\nweights=[2]"
    )
    starts = ("learning_weight = 0", "groups: 1 given", "states: state weights")
    assert all(p.startswith(s) for p, s in zip(problems_of(text), starts, strict=True))


def test_syntax_errors_name_line_and_column() -> None:
    assert problem_of('kind = "a\nb"').startswith("line 1, column 10: not valid TOML: Illegal")
    assert problem_of("kind").startswith("end of document: not valid TOML: Expected '='")
    assert problem_of("x = " + "[" * 100_000).startswith("lists or tables nested more than 64 deep")


def test_files_that_are_no_cost_are_refused_by_name(tmp_path: Path) -> None:
    def problem(path: Path) -> str:
        with pytest.raises(InputError) as caught:
            read_cost(path)
        (only,) = caught.value.problems
        assert only.startswith(f"{path}: ")
        return only.removeprefix(f"{path}: ")

    path = tmp_path / "cost.toml"
    assert problem(path) == "does not exist; give the path of a cost.toml"
    assert problem(tmp_path) == "is a directory; give the path of a cost.toml"
    assert problem(Path("/dev/null")) == "is no regular file; give the path of a cost.toml"
    path.write_bytes(b"#" * 1_000_001)
    assert problem(path) == "is larger than 1 MB; give the path of a cost.toml"
    path.write_bytes(b'kind = "\xff"')
    assert problem(path) == "byte 8 is not UTF-8; save the file in that encoding"
    path.write_text("kind = 'locl'")
    assert problem(path).startswith("kind = 'locl' is unknown (did you mean local?)")


def test_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cost.toml"
    path.write_text(PLAIN)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\)"):
        read_cost(path)


def test_byte_order_mark_and_carriage_returns_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "cost.toml"
    path.write_bytes(b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode())
    assert read_cost(path) == parse_cost(PLAIN)
