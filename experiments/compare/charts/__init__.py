"""The charts and tables of Compare: pure `..._info` values, and the figures, texts and tables made from them."""
