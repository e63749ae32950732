"""Which interpreter runs an app: Tributary's own where it has all that the app asks for, else one made for the app.

An environment of an app lies beside its versions, by the hash of its dependencies: `apps/NAME/env-HASH/`. It sees
Tributary's packages behind its own, so that PyTorch and Flower are installed once.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import site
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from workers.apps.library import library_folder
from workers.apps.package import AppError, AppPackage
from workers.child_environment import environment_without_secrets

READY = "ready.json"
LOG = "install.log"
INSTALL_SECONDS = 3600


def app_interpreter(package: AppPackage) -> Path:
    """Tributary's own unless an environment was made for just these dependencies."""
    folder = environment_folder(package)
    return folder / "bin" / "python" if (folder / READY).is_file() else Path(sys.executable)


def missing_dependencies(package: AppPackage) -> list[str]:
    """Those of the app's requirements that Tributary's environment does not meet."""
    return [each for each in package.dependencies if not is_met(each)]


def is_met(text: str) -> bool:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return False
    if requirement.marker is not None and not requirement.marker.evaluate():
        return True
    try:
        return requirement.specifier.contains(version(requirement.name), prereleases=True)
    except PackageNotFoundError:
        return False


def environment_folder(package: AppPackage) -> Path:
    wanted = json.dumps([sorted(package.dependencies), sys.version_info[:2]])
    digest = hashlib.sha256(wanted.encode()).hexdigest()[:16]
    return library_folder() / package.name / f"env-{digest}"


def install_log(package: AppPackage) -> Path:
    return environment_folder(package).with_suffix(".log")


def make_environment(package: AppPackage) -> Path:
    """Installs what is missing into an environment of the app's own; its log can be read meanwhile."""
    missing, folder = missing_dependencies(package), environment_folder(package)
    if not missing or (folder / READY).is_file():
        return app_interpreter(package)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    share_packages(folder)
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-input", "--no-color"]
    with install_log(package).open("wb") as log:
        ended = subprocess.run(
            [*command, *missing],
            env=environment_without_secrets(),
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    if ended.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        last = install_log(package).read_text(errors="replace").strip().splitlines()[-1:]
        raise AppError(f"What {package.name} needs could not be installed: {' '.join(last)}")
    (folder / READY).write_text(json.dumps({"dependencies": missing}))
    return python


def share_packages(folder: Path) -> None:
    """Tributary's packages come after the app's own on its path."""
    target = next((folder / "lib").glob("python*/site-packages"))
    (target / "tributary.pth").write_text("\n".join(site.getsitepackages()) + "\n")
