"""Logs that should mislead an advisor, by the way in which they do."""
