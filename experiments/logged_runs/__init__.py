"""Runs of a lab's own scripts, which tell their rounds over REST: logged, not computed here."""
