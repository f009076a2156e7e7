"""The tables of the paper: every row is there, under its name, with its price and figures."""

from __future__ import annotations

import pytest

from nacre.errors import InputError
from nacre.experiments.tables import TABLES, find_row, find_rows

ROWS = {row.name: row for rows in TABLES.values() for row in rows}


def test_every_row_has_a_name_of_its_own() -> None:
    assert {table: len(rows) for table, rows in TABLES.items()} == {
        "gymnasium": 6,
        "gymnasium-ct": 6,
        "sumo": 6,
    }
    assert len(ROWS) == 18
    assert {"hopper-suboptimal", "ant-optimal", "hopper-suboptimal-ct0.1"} <= set(ROWS)
    assert {"ant-suboptimal-ct1", "sumo-cl5-ct0.1-suboptimal", "sumo-cl10-ct1-optimal"} <= set(ROWS)


def test_prices_are_among_those_of_the_papers_settings() -> None:
    for row in ROWS.values():
        assert (row.learning_weight, row.transaction_weight) in row.paper.cost_pairs
        assert row.table == next(table for table, rows in TABLES.items() if row in rows)


def test_old_policies_are_files_or_random() -> None:
    assert ROWS["hopper-suboptimal"].old_policy == "random"
    assert ROWS["ant-suboptimal"].old_policy == "ant_weak"
    assert ROWS["halfcheetah-optimal-ct0.1"].old_policy == "halfcheetah_optimal"
    assert ROWS["sumo-cl0.5-ct0.01-optimal"].old_policy == "sumo_optimal"


def test_published_figures() -> None:
    hopper = ROWS["hopper-suboptimal"].published
    assert (hopper.improvement_mean, hopper.improvement_std) == (27.7, 16.9)
    for row in ROWS.values():
        published = row.published
        assert 0 <= published.switch_proportion <= 1
        assert 0.5 < published.responsible_rate <= 1
        assert (published.improvement_mean is None) == row.name.split("-ct")[0].endswith(
            "-optimal"
        ) or row.table == "sumo"


def test_rows_are_found_by_name_or_beginning() -> None:
    assert find_rows("sumo") == list(TABLES["sumo"])
    assert [row.name for row in find_rows("gymnasium", ["hopper*", "hopper-optimal"])] == [
        "hopper-suboptimal",
        "hopper-optimal",
    ]
    assert find_rows("gymnasium", ["ant-optimal"]) == [ROWS["ant-optimal"]]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="no table is called 'gym': give one of gymnasium"):
        find_rows("gym")
    for name in ("hopper", "walker*", "sumo-cl5-ct0.1-optimal"):
        with pytest.raises(InputError, match=r"table gymnasium has no row .*it has ant-suboptimal"):
            find_rows("gymnasium", [name])


def test_a_row_is_found_in_whichever_table_it_is() -> None:
    for rows in TABLES.values():
        assert [find_row(row.name) for row in rows] == list(rows)
    with pytest.raises(InputError, match="no table has a row 'walker'"):
        find_row("walker")
