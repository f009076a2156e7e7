"""Independent tasks, wherever they run."""
