"""Whether plans are feasible (Definition "Feasible transport plan"), and how far they are off."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from nacre.costs.plans import Plans, surplus
from nacre.errors import InputError

MISFIT = 1e-5
"""How far a plan's masses may be off its marginals: rounding of float32, over large supports."""


def check_plans(
    plans: Plans,
    old: ArrayLike,
    new: ArrayLike,
    membership_old: ArrayLike,
    membership_new: ArrayLike,
) -> None:
    """Raise `InputError` unless γ ∈ C(ρ, η) and λ = Σ τ_ℓ λ_ℓ; shapes as in `surplus`.

    Both then add up to a feasible plan from the old to the new distribution (Proposition
    "FeasibleTransportPlan").
    """
    wanted = (*jnp.broadcast_shapes(jnp.shape(old)[:-1], jnp.shape(new)[:-1]),)
    shape = (*wanted, jnp.shape(old)[-1], jnp.shape(new)[-1])
    problems = [
        f"the {name} plan has shape {jnp.shape(plan)}, expected {shape}: a row for each old and a "
        "column for each new action"
        for name, plan in zip(plans._fields, plans, strict=True)
        if jnp.shape(plan)[-2:] != shape[-2:]
    ]
    if not problems:
        misfits = measure_misfit(plans, old, new, membership_old, membership_new)
        problems = [
            f"the {name} plan {how} by up to {float(jnp.max(misfit)):.3g}; {remedy}"
            for name, how, remedy, misfit in zip(*_CONDITIONS, misfits, strict=True)
            if not float(jnp.max(misfit)) <= MISFIT
        ]
    if problems:
        raise InputError(problems)


_CONDITIONS = (
    ("learning", "learning", "learning", "transaction", "transaction", "transaction"),
    (
        "has negative or missing masses,",
        "misses the surplus of the old actions",
        "misses the deficit of the new actions",
        "has negative or missing masses,",
        "misses what stays of the old actions",
        "misses what stays of the new actions, or leaves their group,",
    ),
    (
        "masses are not negative",
        "its rows must add up to ρ, see nacre.costs.plans.surplus",
        "its columns must add up to η, see nacre.costs.plans.surplus",
        "masses are not negative",
        "within each group its rows must add up to τ times the old distribution there",
        "within each group its columns must add up to τ times the new distribution there",
    ),
)


@jax.jit
def measure_misfit(
    plans: Plans,
    old: ArrayLike,
    new: ArrayLike,
    membership_old: ArrayLike,
    membership_new: ArrayLike,
) -> tuple[jax.Array, ...]:
    """How far plans are from feasible, each (...,): γ negative, its rows, its columns; λ the same.

    NaN where a plan has entries that are not numbers. Shapes as in `surplus`.
    """
    rho, eta, _ = surplus(old, new, membership_old, membership_new)
    of_old, of_new = (jnp.asarray(of, rho.dtype) for of in (membership_old, membership_new))
    gamma, lam = (jnp.asarray(plan, rho.dtype) for plan in plans)
    # What does not leave its group stays, and what does not arrive was there.
    stays, becomes = jnp.asarray(old) - rho, jnp.asarray(new) - eta
    # Mass of λ that leaves its group is missing in its row and in its column.
    within = lam * jnp.einsum("...il,...jl->...ij", of_old, of_new)
    return (
        jnp.max(-gamma, axis=(-2, -1)),
        jnp.max(jnp.abs(gamma.sum(-1) - rho), axis=-1),
        jnp.max(jnp.abs(gamma.sum(-2) - eta), axis=-1),
        jnp.max(-lam, axis=(-2, -1)),
        jnp.max(jnp.abs(within.sum(-1) - stays), axis=-1),
        jnp.max(jnp.abs(within.sum(-2) - becomes), axis=-1)
        + jnp.abs(within - lam).sum(axis=(-2, -1)),
    )
