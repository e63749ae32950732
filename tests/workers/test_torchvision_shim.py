import subprocess
import sys

# In a process of its own: what torchvision leaves behind after a failed import must not reach other tests.
CODE = """
from workers.torchvision_shim import import_torchvision
assert import_torchvision() is import_torchvision()
from torchvision import datasets, models, transforms
print(sum(p.numel() for p in models.resnet18(num_classes=100).parameters()))
"""


def test_torchvision_imports_with_the_torch_that_is_installed() -> None:
    command = [sys.executable, "-W", "error", "-c", CODE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("11227812", "")
