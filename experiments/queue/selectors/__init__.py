"""The queue and its workers as people see them."""
