"""What a policy is worth."""
