"""The compile decorator: cached code never outlives what it was made from."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from onlinekit.jit import direct, kernel


def run(folder):
    code = "import outer; print(outer.twice(3.0))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return float(done.stdout)


def test_a_changed_kernel_recompiles_those_that_call_it(tmp_path):
    inner = "from onlinekit.jit import kernel\n@kernel\ndef step(a):\n    return {} * a\n"
    middle = (
        "from onlinekit.jit import kernel\nfrom inner import step\n@kernel\ndef two(a):\n    return step(step(a))\n"
    )
    outer = "from onlinekit.jit import kernel\nfrom middle import two\n@kernel\ndef twice(a):\n    return two(a)\n"
    (tmp_path / "inner.py").write_text(inner.format("2.0"))
    (tmp_path / "middle.py").write_text(middle)
    (tmp_path / "outer.py").write_text(outer)
    assert run(tmp_path) == 12.0
    cached = set(tmp_path.rglob("outer.twice*.nbc"))
    assert run(tmp_path) == 12.0
    assert set(tmp_path.rglob("outer.twice*.nbc")) == cached  # the second process compiled nothing
    (tmp_path / "inner.py").write_text(inner.format("3.0"))
    os.utime(tmp_path / "inner.py", (1, 1))  # an installer may set any time
    assert run(tmp_path) == 27.0


def test_a_changed_constant_recompiles_those_that_use_it(tmp_path):
    (tmp_path / "constants.py").write_text("FACTOR = 2.0\n")
    (tmp_path / "outer.py").write_text(
        "from onlinekit.jit import kernel\nfrom constants import FACTOR\n"
        "@kernel\ndef twice(a):\n    return FACTOR * a\n"
    )
    assert run(tmp_path) == 6.0
    (tmp_path / "constants.py").write_text("FACTOR = 5.0  # a longer file\n")
    assert run(tmp_path) == 15.0


def test_direct_gives_the_kernel_for_the_given_types():
    @kernel
    def total(x, factor):
        s = 0.0
        for j in range(x.shape[0]):
            s += x[j]
        return factor * s

    x = np.arange(4.0)
    assert total(x, 2.0) == 12.0
    compiled = direct(total, (x, 2.0))
    assert compiled(x, 0.5) == 3.0
    if not numba.config.DISABLE_JIT:
        assert compiled is not total
        with pytest.raises(KeyError):
            direct(total, (np.arange(4), 2.0))  # never compiled for whole numbers
