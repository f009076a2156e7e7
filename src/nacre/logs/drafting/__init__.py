"""Drafts of column maps: what a table looks like, and what its columns may mean."""
