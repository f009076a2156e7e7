"""What a switch costs: groups of actions, statewise costs and the family they span."""

from nacre.costs import groups
from nacre.costs.breakdown import CostBreakdown
from nacre.costs.description import describe_cost
from nacre.costs.family import SwitchingCost
from nacre.costs.general import GeneralTransport
from nacre.costs.grounds import StateGround
from nacre.costs.groups import ActionGroups, Boxes, IndexSets
from nacre.costs.guardrail_terms import GuardrailTerms
from nacre.costs.importance import Rule, RuleImportance, StateImportance, TableImportance
from nacre.costs.kinds import (
    GeneralTransportCost,
    GlobalCost,
    LocalCost,
    PolicyCost,
    TransportCost,
)
from nacre.costs.measures import FiniteStates, LogStates, StateMeasure, UniformBox, WeightedStates
from nacre.costs.segment_terms import SegmentTerms
from nacre.costs.sequence import SequenceCost, evaluate_sequence
from nacre.costs.statewise import Comparison, Difference, StatewiseCost, Transport
from nacre.costs.toml import build_cost, format_cost, parse_cost, read_cost, write_cost
from nacre.costs.value_terms import ValueTerms

__all__ = [
    "ActionGroups",
    "Boxes",
    "Comparison",
    "CostBreakdown",
    "Difference",
    "FiniteStates",
    "GeneralTransport",
    "GeneralTransportCost",
    "GlobalCost",
    "GuardrailTerms",
    "IndexSets",
    "LocalCost",
    "LogStates",
    "PolicyCost",
    "Rule",
    "RuleImportance",
    "SegmentTerms",
    "SequenceCost",
    "StateGround",
    "StateImportance",
    "StateMeasure",
    "StatewiseCost",
    "SwitchingCost",
    "TableImportance",
    "Transport",
    "TransportCost",
    "UniformBox",
    "ValueTerms",
    "WeightedStates",
    "build_cost",
    "describe_cost",
    "evaluate_sequence",
    "format_cost",
    "groups",
    "parse_cost",
    "read_cost",
    "write_cost",
]
