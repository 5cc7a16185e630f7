"""A plugin made by `onlinekit new`: installed in an environment of its own, listed, checked, tested."""

import os
import subprocess
import sys
import sysconfig

import pytest


@pytest.mark.slow
def test_new_plugin_in_a_fresh_environment(tmp_path):
    def call(*command, **options):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    call(sys.executable, "-m", "onlinekit", "new", "my-learner")
    call(sys.executable, "-m", "venv", "--without-pip", "env")
    python = str(tmp_path / "env" / "bin" / "python")
    # The dependencies are those of this interpreter, named by a .pth file; the plugin alone is installed.
    site = call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    with open(os.path.join(site, "dependencies.pth"), "w") as file:
        file.write(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    install = ["-m", "pip", "install", "--no-deps", "--no-build-isolation", "--no-index", "./my-learner"]
    call(python, *install)
    assert "my-learner" in call(python, "-m", "onlinekit", "list")
    assert "all passed" in call(python, "-m", "onlinekit", "check", "my-learner")
    call(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "my-learner/tests")
