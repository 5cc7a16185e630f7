"""`onlinekit new`: a third-party plugin made from the template that ships with onlinekit."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import keyword
import shutil
import sys
import tempfile
from pathlib import Path

from onlinekit.registry import is_kebab, specs

__all__ = ["new_plugin"]


def new_plugin(name: str, parent: Path) -> Path:
    """Write the plugin `name` to the new folder `parent / name` and return that folder.

    The template's names are replaced in files' contents and paths: template-learner by `name`, template_learner by
    the package name, TemplateLearner by the class name.

    Raises
    ------
    ValueError
        If the name is not kebab-case, cannot be a package, or is taken by an installed learner.
    FileExistsError
        If the folder exists already.
    FileNotFoundError
        If onlinekit was installed without its template.
    """
    if not is_kebab(name):
        raise ValueError(f"{name!r} is no plugin name: use lower-case words joined by hyphens, as in 'my-learner'")
    package = name.replace("-", "_")
    if keyword.iskeyword(package) or package in sys.stdlib_module_names or importlib.util.find_spec(package):
        raise ValueError(f"{name!r} would need a package {package!r}, which Python or an installed package has")
    if any(spec.name == name for spec in specs()):
        raise ValueError(f"{name!r} is the name of an installed plugin")
    folder = parent / name
    if folder.exists():
        raise FileExistsError(f"{folder} exists already")
    source = _template()
    words = name.split("-")
    swaps = {
        "template-learner": name,
        "template_learner": package,
        "TemplateLearner": "".join(word.capitalize() for word in words),
    }

    def renamed(text: str) -> str:
        for old, new in swaps.items():
            text = text.replace(old, new)
        return text

    # Written aside and moved into place at the end, so that a failure leaves no half a plugin.
    with tempfile.TemporaryDirectory(dir=parent, prefix=".onlinekit-new-") as aside:
        draft = Path(aside) / name
        for path in sorted(source.rglob("*")):
            relative = path.relative_to(source)
            if path.is_dir() or "__pycache__" in relative.parts or path.suffix == ".pyc":
                continue
            target = draft / renamed(relative.as_posix())
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(renamed(path.read_text("utf-8")), "utf-8")
        shutil.move(draft, folder)
    return folder


def _template() -> Path:
    # The template lies in one of the top-level packages of our own distribution. Asking the import system where a
    # top-level package is does not run it, and works for wheels and editable installs alike.
    packages = (importlib.metadata.distribution("onlinekit").read_text("top_level.txt") or "").split()
    for package in packages:
        found = importlib.util.find_spec(package)
        for location in (found.submodule_search_locations or []) if found else []:
            folder = Path(location) / "_template"
            if (folder / "pyproject.toml").is_file():
                return folder
    raise FileNotFoundError("this installation of onlinekit has no plugin template")
