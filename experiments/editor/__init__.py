"""The grid editor's server side: its fields come from the catalog and `RunSpec`, and only the server validates."""
