"""What `strategy: {name: composed}` is made of: client rules, aggregations and server optimizers."""
