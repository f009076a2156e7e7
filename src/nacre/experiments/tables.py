"""The three tables of the paper: rows, costs and published figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nacre.errors import InputError
from nacre.learners.net_actor_critic.config import PaperSettings, paper
from nacre.simulators.registry import TRAFFIC


@dataclass(frozen=True)
class Published:
    """Figures of the paper: proportions from 0 to 1; None where it prints none."""

    switch_proportion: float
    responsible_rate: float
    improvement_mean: float | None = None
    improvement_std: float | None = None
    old_value: float | None = None


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Args:
        table: "gymnasium", "gymnasium-ct" or "sumo".
        name: Unique among all tables.
        world: Where it is played.
        old_policy: "random" for a new random network with each seed, else the name of a file
            without its suffix.
        learning_weight: c_l.
        transaction_weight: c_t.
        published: What the paper reports.
    """

    table: str
    name: str
    world: str
    old_policy: str
    learning_weight: float
    transaction_weight: float
    published: Published

    @property
    def paper(self) -> PaperSettings:
        """The paper's settings for this row."""
        return paper("sumo" if self.world == TRAFFIC else self.world)


RANDOM = "random"


def _gymnasium(
    table: str,
    world: str,
    weak: str,
    transaction_weight: float,
    suboptimal: Published,
    optimal: Published,
) -> list[Row]:
    short = world.removesuffix("-v4").lower()
    suffix = "" if transaction_weight == 0 else f"-ct{transaction_weight:g}"
    return [
        Row(table, f"{short}-suboptimal{suffix}", world, weak, 5.0, transaction_weight, suboptimal),
        Row(
            table,
            f"{short}-optimal{suffix}",
            world,
            f"{short}_optimal",
            5.0,
            transaction_weight,
            optimal,
        ),
    ]


def _traffic(learning: float, transaction: float, suboptimal: Published) -> list[Row]:
    name = f"sumo-cl{learning:g}-ct{transaction:g}"
    return [
        Row("sumo", f"{name}-suboptimal", TRAFFIC, RANDOM, learning, transaction, suboptimal),
        Row(
            "sumo",
            f"{name}-optimal",
            TRAFFIC,
            "sumo_optimal",
            learning,
            transaction,
            Published(0.0, 1.0),
        ),
    ]


TABLES: dict[str, tuple[Row, ...]] = {
    "gymnasium": (
        *_gymnasium(
            "gymnasium",
            "Ant-v4",
            "ant_weak",
            0.0,
            Published(1.0, 0.9, 58.2, 23.7, -14.2),
            Published(0.0, 1.0),
        ),
        *_gymnasium(
            "gymnasium",
            "HalfCheetah-v4",
            RANDOM,
            0.0,
            Published(0.8, 0.7, 18.5, 19.5, -60.5),
            Published(0.0, 1.0),
        ),
        *_gymnasium(
            "gymnasium",
            "Hopper-v4",
            RANDOM,
            0.0,
            Published(1.0, 1.0, 27.7, 16.9, 15.6),
            Published(0.2, 0.8),
        ),
    ),
    "gymnasium-ct": (
        *_gymnasium(
            "gymnasium-ct",
            "Ant-v4",
            "ant_weak",
            1.0,
            Published(0.9, 1.0, 55.2, 23.2, -14.2),
            Published(0.0, 1.0),
        ),
        *_gymnasium(
            "gymnasium-ct",
            "HalfCheetah-v4",
            RANDOM,
            0.1,
            Published(1.0, 1.0, 24.1, 8.9, -52.8),
            Published(0.0, 1.0),
        ),
        *_gymnasium(
            "gymnasium-ct",
            "Hopper-v4",
            RANDOM,
            0.1,
            Published(1.0, 1.0, 52.0, 19.8, 17.0),
            Published(0.0, 1.0),
        ),
    ),
    "sumo": (
        *_traffic(0.5, 0.01, Published(1.0, 1.0, 7.0, 0.7, 21.9)),
        *_traffic(5.0, 0.1, Published(1.0, 1.0, 6.2, 0.4, 19.5)),
        *_traffic(10.0, 1.0, Published(1.0, 1.0, 6.4, 0.7, 21.9)),
    ),
}


def find_rows(table: str, names: Sequence[str] = ()) -> list[Row]:
    """The rows of a table, all or those named; a name may end in * for all that begin so."""
    if table not in TABLES:
        raise InputError(f"no table is called {table!r}: give one of {', '.join(TABLES)}")
    rows = TABLES[table]
    if not names:
        return list(rows)
    found: list[Row] = []
    for name in names:
        if name.endswith("*"):
            matching = [row for row in rows if row.name.startswith(name[:-1])]
        else:
            matching = [row for row in rows if row.name == name]
        if not matching:
            known = ", ".join(row.name for row in rows)
            raise InputError(f"table {table} has no row {name!r}; it has {known}")
        found += [row for row in matching if row not in found]
    return found


def find_row(name: str) -> Row:
    """The row of this name, in whichever table it is."""
    for rows in TABLES.values():
        for row in rows:
            if row.name == name:
                return row
    raise InputError(f"no table has a row {name!r}")
