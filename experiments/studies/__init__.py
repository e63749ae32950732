"""Studies: written in the editor, estimated, launched, followed, changed and deleted."""
