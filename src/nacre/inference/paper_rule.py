"""The decision w of the paper: compare two point estimates."""

from __future__ import annotations

import math
from typing import Literal

Choice = Literal["switch", "keep"]


def decide(old_value: float, net_value: float, *, trusted: bool = True) -> Choice:
    """w(π_o, π_θ): switch exactly if V(π_o) < V_N(π_θ) (step 4 of the paper).

    Args:
        old_value: Value of the old policy at the start; keeping it costs nothing.
        net_value: Value of the new policy at the start minus the switching cost.
        trusted: Whether everything behind the two numbers went well; if not, keep.
    """
    sound = trusted and math.isfinite(old_value) and math.isfinite(net_value)
    return "switch" if sound and old_value < net_value else "keep"
