"""Compare: any cells of any studies. Every choice is in the address, so a link is a view."""
