"""Random programs for the state machine, written line by line."""
