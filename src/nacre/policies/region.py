"""A switch by region: the new policy where a condition on the state holds, else the old one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import gymnasium
import jax.numpy as jnp
from jaxtyping import Array, Bool

from nacre.errors import InputError
from nacre.policies.distributions import ActionDistribution, Categorical, Mixture
from nacre.policies.distributions.interface import ContinuousDistribution, DiscreteDistribution
from nacre.policies.policy import Policy, Signature
from nacre.policies.tabular import TabularPolicy

_WRITTEN = re.compile(r"\s*(?P<name>.+?)\s*(?P<sign><=|>=)\s*(?P<limit>[-+0-9.eE]+)\s*")


@dataclass(frozen=True)
class Cells:
    """States by the centre that is nearest to them, in units of the scale.

    Args:
        centres: K vectors.
        reach: K squared distances up to which a state belongs; negative where none does.
        scale: Unit of each coordinate.
    """

    centres: tuple[tuple[float, ...], ...]
    reach: tuple[float, ...]
    scale: tuple[float, ...]

    def holds(self, observations: Array) -> Bool[Array, "..."]:
        """Whether each observation is within the reach of its nearest centre."""
        apart = observations[..., None, :] - jnp.asarray(self.centres)
        squares = jnp.sum((apart / jnp.asarray(self.scale)) ** 2, axis=-1)
        return jnp.min(squares, axis=-1) <= jnp.asarray(self.reach)[jnp.argmin(squares, axis=-1)]


@dataclass(frozen=True)
class Region:
    """States on one side of a limit of a coordinate, near to some centres, or in a list.

    Args:
        name: For people.
        coordinate: Of the observation; None for cells and for a list of numbered states.
        above: Whether the states at or above the limit are meant.
        limit: The limit.
        states: Numbered states.
        cells: States by their nearest centre.
    """

    name: str
    coordinate: int | None = None
    above: bool = True
    limit: float = 0.0
    states: tuple[int, ...] = ()
    cells: Cells | None = None

    @property
    def numbered(self) -> bool:
        """Whether it is a list of numbered states."""
        return self.coordinate is None and self.cells is None

    def holds(self, observations: Array) -> Bool[Array, "..."]:
        """Whether each observation lies in the region."""
        if self.cells is not None:
            return self.cells.holds(observations)
        if self.coordinate is None:
            return jnp.isin(observations, jnp.asarray(self.states))
        values = observations[..., self.coordinate]
        return values >= self.limit if self.above else values <= self.limit


class RegionPolicy(Policy):
    """What the second policy does within a region, and the first elsewhere."""

    first: Policy
    second: Policy
    region: Region = eqx.field(static=True)

    @property
    def signature(self) -> Signature:
        """The spaces of the first; those of the second are the same."""
        return self.first.signature

    def __call__(self, observations: Array) -> ActionDistribution:
        """The one or the other at each observation."""
        within = self.region.holds(observations)
        first, second = self.first(observations), self.second(observations)
        if isinstance(first, DiscreteDistribution) and isinstance(second, DiscreteDistribution):
            chosen = jnp.where(within[..., None], second.probabilities, first.probabilities)
            return Categorical.from_probabilities(chosen)
        if isinstance(first, ContinuousDistribution) and isinstance(second, ContinuousDistribution):
            share = within.astype(jnp.float32)
            return Mixture(jnp.stack([1.0 - share, share], axis=-1), (first, second))
        raise TypeError(f"no region of a {type(first).__name__} and a {type(second).__name__}")


def switch_region(first: Policy, second: Policy, region: Region) -> Policy:
    """The second policy within a region, else the first; a table if both are tables.

    Raises:
        InputError: If the spaces differ, or the region is one of other spaces.
    """
    if first.signature != second.signature:
        raise InputError(
            "no switch by region between different spaces; give both the same signature"
        )
    numbered = isinstance(first.observation_space, gymnasium.spaces.Discrete)
    size = first.signature.observation_size
    if numbered != region.numbered:
        wanted = "numbered states" if numbered else "a coordinate and a limit"
        raise InputError(f"region {region.name!r:.60}: the policy's states want {wanted}")
    if region.coordinate is not None and not 0 <= region.coordinate < size:
        raise InputError(f"region {region.name!r:.60}: observations have {size} coordinates")
    if region.cells is not None and len(region.cells.scale) != size:
        raise InputError(f"region {region.name!r:.60}: observations have {size} coordinates")
    if isinstance(first, TabularPolicy) and isinstance(second, TabularPolicy):
        within = region.holds(jnp.arange(size))
        return TabularPolicy(
            jnp.where(within[:, None], second.logits, first.logits), first.signature
        )
    return RegionPolicy(first, second, region)


def parse_region(text: str, names: Sequence[str] = ()) -> Region:
    """The region that is written so: `NAME >= NUMBER`, `NAME <= NUMBER`, or `states 0,3,4`.

    Args:
        text: What was written. A coordinate without a name is called by its number.
        names: Of the observation's coordinates.

    Raises:
        InputError: With the form that was expected.
    """
    listed = re.fullmatch(r"\s*states\s+([\d\s,]+)", text)
    if listed:
        states = tuple(int(part) for part in listed[1].replace(",", " ").split())
        return Region(text.strip(), states=states)
    match = _WRITTEN.fullmatch(text)
    try:
        limit = float(match["limit"]) if match else float("nan")
        name = match["name"] if match else ""
        coordinate = list(names).index(name) if name in names else int(name)
    except ValueError:
        raise InputError(
            f"region {text!r:.60}: expected NAME >= NUMBER, NAME <= NUMBER or states 0,3,4; NAME "
            f"is a coordinate of the observation, by number{' or name' if names else ''}"
        ) from None
    return Region(text.strip(), coordinate, bool(match and match["sign"] == ">="), limit)


def region_from_json(document: object) -> Region:
    """The region whose fields a document has, as files keep them.

    Raises:
        InputError: If it has other fields, or they hold what they cannot.
    """
    try:
        fields: dict[str, Any] = dict(document)  # type: ignore[call-overload]
        place, states = fields["coordinate"], tuple(int(state) for state in fields["states"])
        region = Region(
            str(fields["name"]),
            None if place is None else int(place),
            bool(fields["above"]),
            float(fields["limit"]),
            states,
            _cells_from_json(fields["cells"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"its region {document!r:.60} is none ({error!s:.60}); export the policy again"
        ) from None
    cells = region.cells
    if cells is not None:
        widths = {len(centre) for centre in cells.centres}
        if widths != {len(cells.scale)} or len(cells.reach) != len(cells.centres):
            raise InputError("the cells of its region do not fit together; export it again")
    return region


def _cells_from_json(fields: Any) -> Cells | None:
    if fields is None:
        return None
    centres = tuple(tuple(map(float, centre)) for centre in fields["centres"])
    return Cells(centres, *(tuple(map(float, fields[name])) for name in ("reach", "scale")))
