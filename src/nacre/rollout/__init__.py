"""After the decision: a plan in stages, its assignment, and a watch over the live log."""

from nacre.rollout.betting import betting_bounds
from nacre.rollout.design import Design, choose_design
from nacre.rollout.joining import Joined, join_live
from nacre.rollout.net_curve import NetCurve, find_net_curve
from nacre.rollout.plan_record import Plan, Stage, read_plan
from nacre.rollout.planning import PlanOptions, make_plan
from nacre.rollout.sequences import Bounds, bound_mean
from nacre.rollout.watching import Look, look_at

__all__ = [
    "Bounds",
    "Design",
    "Joined",
    "Look",
    "NetCurve",
    "Plan",
    "PlanOptions",
    "Stage",
    "betting_bounds",
    "bound_mean",
    "choose_design",
    "find_net_curve",
    "join_live",
    "look_at",
    "make_plan",
    "read_plan",
]
