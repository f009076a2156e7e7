"""Files that are whole, unchanged, and opened with care: commits, digests, isolation."""
