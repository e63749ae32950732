"""What server and clients send each other, as Flower's messages, and the grid that carries them inside one process."""
