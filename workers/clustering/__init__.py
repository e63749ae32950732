"""Groups of clients from what their models are like. Numpy only: nothing in here knows torch or the engine."""
