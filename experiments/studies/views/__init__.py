"""The pages of studies: the list, one study, its buttons, and the editor."""
