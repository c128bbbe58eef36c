"""The copy library from Python and PyTorch: copies by the method that a plan says is the fastest."""
