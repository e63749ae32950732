"""`python -m workers.apps.check`: can an app be imported, by which interpreter, and what is missing?

Takes `{"name": ..., "hash": ...}` (a kept version) or `{"folder": ...}` as JSON. The app is imported in a process of
its own, with an app's environment and a limit of time, as when it runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from workers.apps.environments import app_interpreter, missing_dependencies
from workers.apps.launcher import app_environment, is_own_interpreter
from workers.apps.leftovers import clear_leftovers
from workers.apps.library import find_version
from workers.apps.package import AppPackage, read_package
from workers.errors import TributaryError

IMPORT_SECONDS = 60
MOST_TEXT = 2_000
IMPORT = """
import json, sys, platform
from pathlib import Path
from workers.apps.runtime.loading import import_pair
from workers.errors import TributaryError
folder, serverapp, clientapp = json.loads(sys.argv[1])
try:
    import_pair(Path(folder), serverapp, clientapp)
    problem = ""
except TributaryError as error:
    problem = str(error)
print("\\n" + json.dumps({"problem": problem, "python": platform.python_version()}))
"""


def check_app(package: AppPackage) -> dict[str, Any]:
    """`ok` where it can be imported; else `problem` says why, and `missing` which requirements are not met here."""
    interpreter = app_interpreter(package)
    own = is_own_interpreter(interpreter)
    missing = missing_dependencies(package) if own else []
    answer = import_in_process(package, interpreter)
    problem = answer["problem"]
    if missing and problem:
        problem = f"Not installed here: {', '.join(missing)}. {problem}"
    return {
        "ok": not problem,
        "problem": problem[:MOST_TEXT],
        "missing": missing,
        "python": answer.get("python", ""),
        "interpreter": "Tributary's own" if own else "an environment of the app's own",
    }


def import_in_process(package: AppPackage, interpreter: Path) -> dict[str, Any]:
    mark = uuid4().hex
    request = json.dumps([str(package.folder), package.serverapp, package.clientapp])
    try:
        with TemporaryDirectory(prefix="tributary-app-") as folder:
            ended = subprocess.run(
                [str(interpreter), "-c", IMPORT, request],
                cwd=folder,
                env=app_environment(mark),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=IMPORT_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return {"problem": f"It was not imported within {IMPORT_SECONDS} seconds."}
    finally:
        clear_leftovers(mark)
    lines = ended.stdout.decode(errors="replace").strip().splitlines()
    if ended.returncode or not lines:
        return {"problem": f"Its import ended the process (code {ended.returncode})."}
    try:
        answer: dict[str, Any] = json.loads(lines[-1])
    except ValueError:
        return {"problem": "Its import ended the process."}
    return answer


def main() -> None:
    request = json.load(sys.stdin)
    try:
        if "folder" in request:
            package = read_package(Path(request["folder"]).resolve())
        else:
            package = find_version(request["name"], request["hash"])
        answer = check_app(package)
    except TributaryError as error:
        answer = {"ok": False, "problem": str(error), "missing": [], "python": "", "interpreter": ""}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
