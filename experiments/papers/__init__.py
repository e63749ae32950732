"""Figures and tables as papers want them: vector files at column width, LaTeX, and captions that say what is shown."""
