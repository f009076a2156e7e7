"""Raw columns of a table as inputs of an ONNX graph: the encodings of the log, in the graph.

Each column is an input of its own, one value a row. Texts are texts, empty where one is missing;
numbers are float64, NaN where one is missing; times are whole seconds since 1970, the least int64
where one is missing (what NumPy makes of NaT). What the log's map refuses is refused when the graph
runs: an operator whose name says what is wrong fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nacre.logs.schema.encoding import CYCLES, ColumnEncoding, read_encodings
from nacre.policies.formats.onnx_nodes import BOOL, CLASSIC, DOUBLE, FLOAT, OnnxGraph

BEYOND = 2**40
"""A place in no table: asking for it fails."""
NO_TIME = np.iinfo(np.int64).min


def takes_columns(inputs: Mapping[str, Any]) -> bool:
    """Whether it is known how the columns of a table become observations, and they do change."""
    return bool(read_encodings(inputs.get("encoding"))) or bool(_find_labels(inputs)[1])


def add_columns(graph: OnnxGraph, inputs: Mapping[str, Any]) -> str:
    """Add an input for each column; the value that holds the observations.

    Args:
        graph: Receives inputs and operators.
        inputs: As policies keep it: `encoding`, or `columns` and `labels` of numbered states.
    """
    column, labels = _find_labels(inputs)
    encodings = read_encodings(inputs.get("encoding"))
    if not encodings:
        codes = _add_codes(graph, ColumnEncoding(column, "ordinal", labels), BEYOND, BEYOND)
        numbers = graph.constant(np.arange(len(labels)))
        return graph.add("Gather", numbers, codes, name=_complain(column))
    parts = [_add_column(graph, encoding) for encoding in encodings]
    return graph.add("Concat", *parts, axis=1)


def name_actions(graph: OnnxGraph, action: str, inputs: Mapping[str, Any]) -> None:
    """Add the output `label`, what the action is called in the table, if it is called something."""
    labels = (inputs.get("labels") or {}).get("action")
    if labels:
        texts = graph.constant(np.array([str(label) for label in labels], object))
        graph.output("label", graph.add("Gather", texts, action), width=None, kind="STRING")


def _find_labels(inputs: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
    column = (inputs.get("columns") or {}).get("observation")
    labels = (inputs.get("labels") or {}).get("observation") or ()
    return (column, tuple(labels)) if isinstance(column, str) else ("", ())


def _add_column(graph: OnnxGraph, encoding: ColumnEncoding) -> str:
    """(batch, w) features of a column."""
    if encoding.kind in ("one_hot", "ordinal"):
        return _add_categories(graph, encoding)
    if encoding.kind in CYCLES:
        given = graph.input(encoding.column, "INT64")
        absent = graph.add("Equal", given, graph.constant(np.array(NO_TIME)))
        numbers = graph.add("Cast", given, to=DOUBLE)
    else:
        numbers = graph.input(encoding.column, "DOUBLE")
        absent = graph.add("IsNaN", numbers)
    wrong = graph.add("IsInf", numbers)
    if encoding.fill is None:
        wrong = graph.add("Or", wrong, absent)
    else:
        fill = graph.constant(np.array(encoding.fill))
        numbers = graph.add("Where", absent, fill, numbers)
    parts = _spread(graph, encoding, _refuse(graph, encoding.column, numbers, wrong))
    if encoding.fill is not None:
        parts.append(graph.add("Cast", absent, to=FLOAT))
    return graph.add("Concat", *(_stand(graph, part) for part in parts), axis=1)


def _spread(graph: OnnxGraph, encoding: ColumnEncoding, numbers: str) -> list[str]:
    """A number as it is, a time as its places in the day and the week."""
    if encoding.kind not in CYCLES:
        return [graph.add("Cast", numbers, to=FLOAT)]
    parts = []
    for length in CYCLES[encoding.kind].values():
        place = graph.add("Mod", numbers, graph.constant(np.array(length)), fmod=1)
        angle = graph.add("Mul", place, graph.constant(np.array(2 * np.pi / length)))
        single = graph.add("Cast", angle, to=FLOAT)
        parts += [graph.add("Sin", single), graph.add("Cos", single)]
    return parts


def _add_categories(graph: OnnxGraph, encoding: ColumnEncoding) -> str:
    """Rows of a table that has one for each label, for others and for what is missing."""
    n = len(encoding.labels)
    numbers = [*range(n), *([n] if encoding.other else [])]
    may_miss = encoding.missing == "category" or encoding.fill is not None
    table = encoding.place_codes(np.array([*numbers, *([-1] if may_miss else [])], np.int64))
    other = n if encoding.other else BEYOND
    codes = _add_codes(graph, encoding, other, len(numbers) if may_miss else BEYOND)
    return graph.add("Gather", graph.constant(table), codes, name=_complain(encoding.column))


def _add_codes(graph: OnnxGraph, encoding: ColumnEncoding, other: int, missing: int) -> str:
    """(batch,) the number of each row's label."""
    labels = encoding.labels
    if all(isinstance(label, str) for label in labels):
        given = graph.input(encoding.column, "STRING")
        places = {"": missing, **{str(label): place for place, label in enumerate(labels)}}
        return graph.add(
            "LabelEncoder",
            given,
            domain=CLASSIC,
            keys_strings=list(places),
            values_int64s=list(places.values()),
            default_int64=other,
        )
    given = graph.input(encoding.column, "DOUBLE")
    row = graph.constant(np.array([[float(label) for label in labels]]))
    equal = graph.add("Cast", graph.add("Equal", _stand(graph, given), row), to=FLOAT)
    some = graph.add("ReduceMax", equal, axes=[1], keepdims=0)
    known = graph.add("Cast", some, to=BOOL)
    absent = graph.add("IsNaN", given)
    strange = graph.add("Where", absent, *(graph.constant(np.array(n)) for n in (missing, other)))
    return graph.add("Where", known, graph.add("ArgMax", equal, axis=1, keepdims=0), strange)


def _refuse(graph: OnnxGraph, column: str, numbers: str, wrong: str) -> str:
    """The same numbers; where one is wrong the graph fails."""
    places = (graph.constant(np.array(place)) for place in (BEYOND, 0))
    place = graph.add("Where", wrong, *places)
    nothing = graph.add("Gather", graph.constant(np.zeros(1)), place, name=_complain(column))
    return graph.add("Add", numbers, nothing)


def _complain(column: str) -> str:
    """The name of an operator, which the runtime repeats when it fails."""
    return f"column {column!r}: a value is missing, or not one that the policy knows"


def _stand(graph: OnnxGraph, value: str) -> str:
    return graph.add("Unsqueeze", value, graph.constant(np.array([1])))


def describe_columns(inputs: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """The inputs of such a graph: column, and what to give."""
    column, labels = _find_labels(inputs)
    encodings = read_encodings(inputs.get("encoding"))
    if not encodings:
        encodings = (ColumnEncoding(column, "ordinal", labels),)
    return [(one.column, _describe(one)) for one in encodings]


def _describe(encoding: ColumnEncoding) -> str:
    if encoding.kind in CYCLES:
        return "int64, seconds since 1970"
    texts = encoding.labels and all(isinstance(label, str) for label in encoding.labels)
    return "text" if texts else "float64"
