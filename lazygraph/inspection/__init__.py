"""Looking at a graph: text, pictures and explanations, none of which realizes anything."""
