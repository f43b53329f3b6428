"""The tests: the engine in `lazygraph`, the training library in `training`, the house here."""
