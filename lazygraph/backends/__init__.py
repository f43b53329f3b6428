"""How the steps of a plan are run."""
