"""What a candidate gains over the old policy, estimated from a log."""
