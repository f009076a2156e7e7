"""File formats of logs, one module each."""
