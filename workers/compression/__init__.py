"""How clients shorten what they send."""
