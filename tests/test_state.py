"""save and load: exact, and safe against damaged and hostile files."""

import hashlib
import math
import signal
import subprocess
import sys

import numpy as np
import pytest
from river import base

from onlinekit import registry, state


class Odd(base.Classifier):
    def learn_one(self, x, y):
        pass

    def predict_proba_one(self, x):
        return {}


def test_plain_values_and_arrays_come_back(tmp_path):
    model = Odd()
    model.values = {(1, "a"): [math.inf, -math.inf, None, True], 2: ()}
    model.arrays = [np.arange(12.0).reshape(3, 4)[:, ::2], np.arange(3), np.array([True]), np.zeros((0, 2))]
    state.save(model, tmp_path / "m")
    again = state.load(tmp_path / "m")
    assert again.values == model.values
    for left, right in zip(again.arrays, model.arrays, strict=True):
        assert left.dtype == right.dtype and np.array_equal(left, right)


def test_a_learner_goes_on_bit_for_bit(tmp_path):
    one = registry.create("learner", "logistic")
    one.learn_one({"a": 1.0, "b": 2.0}, True)
    state.save(one, tmp_path / "m")
    two = state.load(tmp_path / "m")
    for m in (one, two):
        m.learn_one({"a": -1.0, "c": 2.0}, False)
    assert one.predict_proba_one({"a": 1.0}) == two.predict_proba_one({"a": 1.0})


def test_every_truncation_and_altered_byte_is_refused(tmp_path):
    path = tmp_path / "m"
    state.save(Odd(), path)
    good = path.read_bytes()
    for n in range(len(good)):
        path.write_bytes(good[:n])
        with pytest.raises(state.StateError):
            state.load(path)
        path.write_bytes(good[:n] + bytes([good[n] ^ 1]) + good[n + 1 :])
        with pytest.raises(state.StateError):
            state.load(path)


@pytest.mark.parametrize(
    "header",
    [
        b'{"root": {"m": ["learner", "logistic", null]}, "arrays": [["<f8", [1000000000000, 1000000]]]}',
        b'{"root": {"m": ["class", "os:system", null]}, "arrays": []}',
        b'{"root": {"m": ["class", "../../evil:X", null]}, "arrays": []}',
        b'{"root": {"m": ["learner", "../x", null]}, "arrays": []}',
        b'{"root": 1, "arrays": []}',
        b"[",
    ],
)
def test_forged_headers_are_refused(tmp_path, header):
    body = state._FIXED.pack(state.MAGIC, state.VERSION, len(header)) + header
    (tmp_path / "m").write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(state.StateError):
        state.load(tmp_path / "m")


def test_a_process_killed_while_saving_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "m"
    state.save(Odd(), path)
    old = path.read_bytes()
    code = (
        "import os, signal, sys\nfrom onlinekit import registry, state\n"
        "os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)\n"
        "state.save(registry.create('learner', 'logistic'), sys.argv[1])\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], timeout=60).returncode == -signal.SIGKILL
    assert path.read_bytes() == old
