"""save and load: exact, and safe against damaged and hostile files."""

import hashlib
import json
import math
import os
import random
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest
from river import base

import onlinekit
from onlinekit import registry, state


class Odd(base.Classifier):
    def __init__(self, rate=1.0):
        if not rate > 0:
            raise ValueError(f"rate must be positive, not {rate!r}")
        self.rate = rate
        self.values = {}
        self.arrays = []
        self.count = 0
        self.table = np.zeros((2, 0))

    def learn_one(self, x, y):
        pass

    def predict_proba_one(self, x):
        return {}


def forge(path, header, body=b"", version=state.VERSION):
    """A file with a right checksum around any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    whole = state._FIXED.pack(state.MAGIC, version, len(text)) + text + body
    path.write_bytes(whole + hashlib.sha256(whole).digest())


def opened(path):
    """The header, as JSON, and the raw arrays of a file."""
    data = path.read_bytes()
    length = state._FIXED.unpack_from(data)[2]
    start = state._FIXED.size + length
    return json.loads(data[state._FIXED.size : start]), data[start:-32]


def entries(header):
    """The list of [name, value] pairs of the model's state in a header."""
    return header["root"]["m"][2]["d"]


def test_plain_values_and_arrays_come_back(tmp_path):
    model = Odd()
    model.values = {(1, "a"): [math.inf, -math.inf, None, True], 2: (), "x": {"y": np.float64(0.1)}}
    model.arrays = [np.arange(12.0).reshape(3, 4)[:, ::2], np.arange(3), np.array([True]), np.zeros((0, 2))]
    state.save(model, tmp_path / "m")
    again = state.load(tmp_path / "m")
    assert again.values == model.values
    for left, right in zip(again.arrays, model.arrays, strict=True):
        assert left.dtype == right.dtype and np.array_equal(left, right)
        assert left.flags.writeable


def test_a_learner_goes_on_bit_for_bit(tmp_path):
    one = registry.create("learner", "logistic")
    one.learn_one({"a": 1.0, "b": 2.0}, True)
    state.save(one, tmp_path / "m")
    two = state.load(tmp_path / "m")
    for m in (one, two):
        m.learn_one({"a": -1.0, "c": 2.0}, False)
    assert one.predict_proba_one({"a": 1.0}) == two.predict_proba_one({"a": 1.0})


def test_what_cannot_be_saved_is_named_and_nothing_is_written(tmp_path):
    model = Odd()
    model.values = {"f": print}
    with pytest.raises(state.StateError, match="builtin_function"):
        state.save(model, tmp_path / "m")
    model.values = {"f": np.array([print], dtype=object)}
    with pytest.raises(state.StateError, match="array of type object"):
        state.save(model, tmp_path / "m")
    with pytest.raises(state.StateError, match="neither a learner nor a monitor"):
        state.save([1.0], tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_link_stays_a_link_and_rights_follow_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        state.save(Odd(), tmp_path / "m")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o640
    (tmp_path / "link").symlink_to("m")
    state.save(Odd(2.0), tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and state.load(tmp_path / "m").rate == 2.0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "m"]


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


def test_foreign_files_and_other_versions_are_named(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"\x80\x04\x95 this is a pickle" + bytes(100))
    with pytest.raises(state.StateError, match="not a model saved by onlinekit"):
        state.load(path)
    forge(path, {"root": 1, "arrays": []}, version=99)
    with pytest.raises(state.StateError, match="format version 99; this onlinekit reads 1"):
        state.load(path)
    with pytest.raises(FileNotFoundError):
        state.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "header",
    [
        {"root": {"m": ["learner", "logistic", None]}, "arrays": [["<f8", [10**12, 10**6]]]},
        {"root": {"m": ["learner", "logistic", None]}, "arrays": [["<f8", [-1]]]},
        {"root": {"m": ["learner", "logistic", None]}, "arrays": [["<f8", [0, 10**30]]]},
        {"root": {"m": ["learner", "logistic", None]}, "arrays": [["|O", [1]]]},
        {"root": {"m": ["learner", "logistic", None]}, "arrays": [["f8,f8", [1]]]},
        {"root": {"m": ["learner", "logistic", None]}, "arrays": []},
        {"root": {"m": ["learner", "logistic", {"d": []}]}, "arrays": []},
        {"root": {"m": ["learner", "logistic", {"d": [[{"l": []}, 1]]}]}, "arrays": []},
        {"root": {"m": ["class", "os:system", {"d": []}]}, "arrays": []},
        {"root": {"m": ["class", "builtins:dict", {"d": []}]}, "arrays": []},
        {"root": {"m": ["class", "river.datasets.phishing:Phishing", {"d": []}]}, "arrays": []},
        {"root": {"m": ["class", "antigravity:X", {"d": []}]}, "arrays": []},
        {"root": {"m": ["class", "../../evil:X", {"d": []}]}, "arrays": []},
        {"root": {"m": ["learner", "../x", {"d": []}]}, "arrays": []},
        {"root": {"m": ["kind", "logistic", {"d": []}]}, "arrays": []},
        {"root": {"a": 0}, "arrays": [["<f8", [0]]]},
        {"root": {"x": 0}, "arrays": []},
        {"root": 1, "arrays": []},
        {"arrays": []},
        b"[",
        b"[" * 100_000,
        b'{"root": ' + b"9" * 10_000 + b', "arrays": []}',
        b"\xff\xfe",
    ],
)
def test_forged_headers_are_refused(tmp_path, header):
    forge(tmp_path / "m", header)
    modules = set(sys.modules)
    with pytest.raises(state.StateError) as error:
        state.load(tmp_path / "m")
    assert "\n" not in str(error.value) and "antigravity" not in set(sys.modules) - modules


def test_a_header_longer_than_the_file_is_refused(tmp_path):
    whole = state._FIXED.pack(state.MAGIC, state.VERSION, 2**63) + b"{}"
    (tmp_path / "m").write_bytes(whole + hashlib.sha256(whole).digest())
    with pytest.raises(state.StateError, match="longer than the file"):
        state.load(tmp_path / "m")


@pytest.mark.parametrize(
    "name, value, cause",
    [
        ("learn_one", 1, "too much or too little: 'learn_one'"),
        ("__class__", "x", "too much or too little: '__class__'"),
        ("rate", -1.0, "rate must be positive"),
        ("rate", "fast", "not supported"),
        ("count", {"l": []}, "'count' of Odd cannot be a list"),
        ("values", 3, "'values' of Odd cannot be a int"),
        ("table", {"l": []}, "'table' of Odd cannot be a list"),
        ("table", {"a": 1}, "'table' of Odd cannot be a ndarray"),
    ],
)
def test_forged_attributes_are_refused(tmp_path, name, value, cause):
    path = tmp_path / "m"
    state.save(Odd(), path)
    header, _ = opened(path)
    header["arrays"].append(["<i8", [1]])
    pairs = dict(entries(header)) | {name: value}
    header["root"]["m"][2]["d"] = list(pairs.items())
    forge(path, header, bytes(8))
    with pytest.raises(state.StateError, match=cause):
        state.load(path)
    del pairs[name if name in ("rate", "count", "values", "table") else "count"]
    header["root"]["m"][2]["d"] = list(pairs.items())
    forge(path, header, bytes(8))
    with pytest.raises(state.StateError, match="too much or too little"):
        state.load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda pairs, table: table.__setitem__(0, ["<f8", [1, 1]]),
        lambda pairs, table: table.__setitem__(0, ["<f4", [2, 4]]),
        lambda pairs, table: pairs.__setitem__("_capacity", 10**9),
        lambda pairs, table: pairs.__setitem__("_capacity", 1),
        lambda pairs, table: pairs.__setitem__("_features", {"l": ["a", "a"]}),
        lambda pairs, table: pairs.__setitem__("_features", {"l": list("abcdefgh")}),
        lambda pairs, table: pairs.__setitem__("_features", {"l": [{"l": []}]}),
        lambda pairs, table: pairs.__setitem__("_arrays", {"d": []}),
        lambda pairs, table: pairs.__setitem__("lr", -1.0),
    ],
)
def test_arrays_that_do_not_fit_never_reach_a_kernel(tmp_path, change):
    """Kernels do not check bounds, so an array that is too small would be written behind its end."""
    path = tmp_path / "m"
    model = registry.create("learner", "logistic", standardize=True)
    model.learn_one({"a": 1.0, "b": 2.0}, True)
    state.save(model, path)
    header, body = opened(path)
    pairs = dict(entries(header))
    change(pairs, header["arrays"])
    header["root"]["m"][2]["d"] = list(pairs.items())
    forge(path, header, body[: sum(int(np.dtype(t).itemsize * math.prod(s)) for t, s in header["arrays"])])
    with pytest.raises(state.StateError):
        state.load(path)


def test_a_process_killed_while_saving_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "m"
    for call in ("fsync", "replace"):
        state.save(Odd(3.0), path)
        old = path.read_bytes()
        code = (
            "import os, signal, sys\nfrom onlinekit import registry, state\n"
            f"os.{call} = lambda *args: os.kill(os.getpid(), signal.SIGKILL)\n"
            "state.save(registry.create('monitor', 'adwin'), sys.argv[1])\n"
        )
        done = subprocess.run([sys.executable, "-c", code, str(path)], timeout=60)
        assert done.returncode == -signal.SIGKILL
        assert path.read_bytes() == old


def test_a_process_killed_at_any_moment_leaves_a_whole_file(tmp_path):
    path = tmp_path / "m"
    code = (
        "import sys\nimport numpy as np\nfrom onlinekit import registry, state\n"
        "model = registry.create('monitor', 'every-n')\n"
        "while True:\n"
        "    model.n_skipped += 1\n"
        "    state.save(model, sys.argv[1])\n"
    )
    dice = random.Random(4)
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", code, str(path)])
        deadline = time.monotonic() + 60
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(dice.uniform(0.01, 0.2))
        child.kill()
        child.wait()
        assert state.load(path).n_skipped >= 1
        path.unlink()


def test_an_error_while_writing_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    state.save(Odd(3.0), tmp_path / "m")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        state.save(Odd(4.0), tmp_path / "m")
    assert [p.name for p in tmp_path.iterdir()] == ["m"] and state.load(tmp_path / "m").rate == 3.0


def test_the_folder_is_synced_after_the_rename(tmp_path, monkeypatch):
    calls = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: calls.append(stat.S_ISDIR(os.fstat(fd).st_mode)) or sync(fd))
    monkeypatch.setattr(os, "replace", lambda *args: calls.append("replace") or replace(*args))
    onlinekit.save(Odd(), tmp_path / "m")
    assert calls == [False, "replace", True]
