"""One part of each kind for nacre, to copy from."""
