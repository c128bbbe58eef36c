"""The picture of the node: `rates` of links, `boxes` and `ring` for places, `drawing` for all of it."""
