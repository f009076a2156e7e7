"""What the columns of a log mean: recognition, maps, categories, spaces."""
