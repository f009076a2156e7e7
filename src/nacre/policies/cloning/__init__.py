"""Policies fitted to what another policy says or did."""
