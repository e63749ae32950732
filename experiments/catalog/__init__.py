"""Everything that can be launched, explained, with what is wrong with a lab's own components."""
