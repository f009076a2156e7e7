"""What learners and estimators share: critic ensembles, backups, batches, loops."""
