"""Published studies, ready to launch, with their numbers: one YAML file each, read by `preset.py`."""
