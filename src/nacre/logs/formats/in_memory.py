"""Logs from what Python programs hold: tables of pandas, Polars and Arrow, and arrays by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from gymnasium.spaces import Space
from numpy.typing import ArrayLike

from nacre.errors import InputError, Kind, check_arguments
from nacre.logs.checks.assembly import assemble
from nacre.logs.checks.problems import Problems, show
from nacre.logs.episodes import Log
from nacre.logs.formats.array_sources import ArraySource
from nacre.logs.schema.draft import as_arrays
from nacre.logs.schema.mapping import Columns, read_columns
from nacre.logs.schema.source import Source
from nacre.logs.schema.sources import draft_log
from nacre.logs.schema.spaces import JSON, given_spaces

Arrays = Annotated[
    Mapping[str, ArrayLike | Mapping[str, Any]],
    Kind("arrays by name, or a table to log_from_table", lambda value: isinstance(value, Mapping)),
]
# The name under which pandas hands over an index that has none.
_INDEX = "__index_level_0__"


@check_arguments
def log_from_table(
    table: Any,
    *,
    columns: Columns | None = None,
    observation_space: Space[Any] | None = None,
    action_space: Space[Any] | None = None,
    provenance: Mapping[str, JSON] | None = None,
) -> Log:
    """Return a checked log of a table of pandas, Polars, Arrow or anything that Arrow understands.

    Args:
        table: Has `__arrow_c_stream__` or `__dataframe__`. One row is one transition.
        columns: Which column holds what, as in `read_log`.
        observation_space: A Box of one axis, or Discrete; inferred if absent.
        action_space: Likewise.
        provenance: Anything JSON can hold.

    Raises:
        InputError: With every problem found.
    """
    from nacre.logs.formats.cleaning import Cleaning
    from nacre.logs.formats.tables import TableSource

    arrow = _to_arrow(table)
    problems = Problems(file="table")
    source = TableSource(arrow.schema, len(arrow), lambda n: arrow.column(n).chunks, problems)
    column_map = read_columns(columns)
    source.cleaning = Cleaning.of(column_map)
    spaces = given_spaces(observation_space, action_space)
    return _finish(source, spaces, provenance, column_map, problems)


@check_arguments
def log_from_arrays(
    arrays: Arrays,
    *,
    columns: Columns | None = None,
    observation_space: Space[Any] | None = None,
    action_space: Space[Any] | None = None,
    provenance: Mapping[str, JSON] | None = None,
) -> Log:
    """Return a checked log of arrays by name, such as a D4RL dataset in a dictionary.

    With the names `observations`, `actions`, `rewards` and `terminals` no array of episodes is
    needed: they end where `terminals` or `timeouts` says so. Nested dictionaries are left out.

    Args:
        arrays: (N,) or (N, w) each, N transitions.
        columns: Which array holds what, as in `read_log`.
        observation_space: A Box of one axis, or Discrete; inferred if absent.
        action_space: Likewise.
        provenance: Anything JSON can hold.

    Raises:
        InputError: With every problem found.
    """
    problems = Problems(file="arrays")
    flat = {str(n): v for n, v in arrays.items() if not isinstance(v, Mapping)}
    source = ArraySource(as_arrays(flat, problems), problems)
    spaces = given_spaces(observation_space, action_space)
    return _finish(source, spaces, provenance, columns, problems)


def _to_arrow(table: Any) -> Any:
    import pyarrow as pa
    from pyarrow.interchange import from_dataframe

    try:
        if hasattr(table, "__arrow_c_stream__"):
            arrow = pa.table(table)
        elif hasattr(table, "__dataframe__"):
            arrow = from_dataframe(table)
        else:
            raise InputError(
                f"table: {type(table).__name__} is no table; give one of pandas, Polars or Arrow, "
                "or a dictionary of arrays to log_from_arrays"
            )
    except (pa.ArrowException, NotImplementedError, RuntimeError, TypeError) as error:
        raise InputError(
            f"table: cannot be read by Arrow ({show(str(error))}); "
            "give every column values of one type"
        ) from error
    return arrow.drop_columns([_INDEX]) if _INDEX in arrow.column_names else arrow


def _finish(
    source: Source,
    spaces: Mapping[str, Space[Any]],
    provenance: Mapping[str, JSON] | None,
    columns: Columns | None,
    problems: Problems,
) -> Log:
    draft = draft_log(source, spaces, problems, read_columns(columns))
    if draft is not None:
        draft.provenance = {**dict(provenance or {}), **draft.provenance}
    content = None if draft is None else assemble(draft, problems)
    if content is None or problems:
        raise problems.as_error()
    return Log.from_content(content)
