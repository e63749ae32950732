"""Pages of Compare: the page itself, what is shared of it, downloads, and the displays of a study."""
