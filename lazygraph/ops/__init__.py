"""What each op means: one record an op, beside the public function that applies it."""
