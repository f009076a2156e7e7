"""After the decision: a plan in stages, its assignment, and a watch over the live log."""
