"""From a log to advice: configuration, pipeline, result, record."""
