"""Tables, folders of pictures and Hugging Face folders, from a lab's disk to the arrays of a data set, without code."""
