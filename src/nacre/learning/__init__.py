"""Finding a better policy."""
