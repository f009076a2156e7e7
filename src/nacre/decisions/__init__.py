"""Many decisions at once: a table of logs, policies and costs in, an answer for each out."""
