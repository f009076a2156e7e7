"""From estimates to statements: intervals, sensitivity to hidden confounding, the rule."""
