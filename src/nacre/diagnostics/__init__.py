"""What a log can and cannot tell, found out before anything is estimated."""
