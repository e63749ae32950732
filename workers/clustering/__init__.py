"""Groups of clients from what their models are like (ATHENA-FL). Numpy only: no torch, no engine."""
