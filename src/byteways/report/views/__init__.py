"""Charts of a section that belong to no subject: the best interfaces, and two runs. One file a view."""
