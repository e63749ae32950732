"""Charts in two steps: a pure `..._info` value, then a Plotly figure as plain data. Colours are the browser's part."""
