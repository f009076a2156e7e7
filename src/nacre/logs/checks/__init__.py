"""What can be wrong with a log, found before anything is computed."""
