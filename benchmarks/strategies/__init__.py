"""Every strategy of the catalog on the same small, uneven federation, and docs/strategies.md made from it."""
