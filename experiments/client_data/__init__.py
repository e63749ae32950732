"""How the data of a run is distributed over its clients."""
