"""Where the arrays of a log live: in memory, or mapped from files."""
