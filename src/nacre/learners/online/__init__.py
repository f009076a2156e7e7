"""Online training in simulated worlds: how good old policies are made."""
