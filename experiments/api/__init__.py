"""REST under /api/v1: routes parse, call services and selectors, and answer with typed values."""
