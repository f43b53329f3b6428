"""What a graph is: specs, ops, nodes, handles on them, and ways to walk and check them."""
