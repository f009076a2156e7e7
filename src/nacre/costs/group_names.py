"""What groups of actions are called: by cost.toml, by the labels of the log, or by numbers."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from nacre.costs.groups import Boxes, IndexSets
from nacre.costs.partitions import name_box
from nacre.costs.statewise import StatewiseCost
from nacre.errors import InputError
from nacre.logs import Log, action_labels, own_names


def name_groups(
    statewise: StatewiseCost,
    action_space: gymnasium.Space[Any],
    log: object = None,
    own: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """Names of the groups.

    Args:
        statewise: The comparison whose groups they are.
        action_space: Of the policies.
        log: A log whose labels and columns name the actions.
        own: Names of the user's own, which count more.

    Raises:
        InputError: If the groups do not fit the actions, or the names do not fit the groups.
    """
    names = statewise.group_names(action_space)
    if own and len(own) != len(names):
        raise InputError(
            f"groups.names has {len(own)} names for {len(names)} groups; give one for each"
        )
    groups = getattr(statewise, "groups", None)
    if own or not isinstance(log, Log):
        return own or names
    if isinstance(groups, IndexSets) and isinstance(action_space, gymnasium.spaces.Discrete):
        labels = action_labels(log)
        if labels is not None and len(labels) == int(action_space.n):
            columns = groups.membership(len(labels)).T
            return tuple(
                " or ".join(str(labels[action]) for action in np.flatnonzero(column))
                for column in columns
            )
    called = own_names(log, "action")
    if isinstance(groups, Boxes) and called:
        return tuple(
            name_box(groups.coordinates, lower, upper, called)
            for lower, upper in zip(groups.lower, groups.upper, strict=True)
        )
    return names
