"""Should we replace the policy we run today? Balanced policy switching from logged data."""

__version__ = "0.1.0"
