"""How parts are found by name, ours and those of other packages."""
