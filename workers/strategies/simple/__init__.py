"""A strategy of one's own in one short class, `workers.plugin.SimpleStrategy`: declared here, computed by `_method`."""
