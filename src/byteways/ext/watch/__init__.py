"""What a program moved: bins of operations, the folder that holds them, and what collects them."""
