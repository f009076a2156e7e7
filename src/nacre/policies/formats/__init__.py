"""File formats and other forms of policies, one module each."""
