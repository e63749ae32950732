"""What every feature stands on: errors, locks and timeouts of the database, values as JSON."""
