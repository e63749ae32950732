"""Pages: views parse, call services and selectors, and render."""
