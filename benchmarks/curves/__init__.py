"""What curves take on disk, how fast they are written, and how fast Compare reads them."""
