"""Words for what the lab computes with: axes of cells, metrics and specs, as people read them."""
