"""What onlinekit costs to import and compile, and where it works: read-only installs, and without a compiler."""

import ast
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
import tomllib
from importlib import import_module
from pathlib import Path

import numba
import numpy as np
import pytest

import onlinekit
import onlinekit_plugins
from onlinekit._testing_base import answer
from onlinekit.testing import binary_stream

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import startup

LEARNERS = [spec.name for spec in onlinekit.specs("learner")]
ROOT = Path(onlinekit.__file__).parent.parent
SOURCES = [
    path
    for package in (Path(onlinekit.__file__).parent, Path(onlinekit_plugins.__file__).parent)
    for path in sorted(package.rglob("*.py"))
    if "_template" not in path.parts
]
HARMLESS = {"reassoc", "contract", "nsz", "arcp"}

# Learns and predicts one by one and in an array; prints probabilities.
WORK = """
import json, sys, warnings
warnings.simplefilter("always")
import numpy as np
import onlinekit
from onlinekit._testing_base import answer
X = np.random.default_rng(3).normal(size=(30, 3))
y = X[:, 0] > X[:, 1]
out = {}
for name in sys.argv[1:]:
    model = onlinekit.create("learner", name)
    for x, label in zip(X[:20].tolist(), y[:20].tolist()):
        model.predict_one(dict(enumerate(x)))
        model.learn_one(dict(enumerate(x)), label)
    if hasattr(model, "prequential_many"):
        model.prequential_many(X[20:], y[20:])
    else:
        model.learn_many(X[20:], y[20:])
    told = [answer(model, dict(enumerate(x))) for x in X.tolist()]
    out[name] = [list(each.values())[-1] for each in told]
print(json.dumps(out))
"""


def python(*arguments, env=None, **options):
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=600,
        **options,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def work(*names, **options):
    done = python("-c", WORK, *names, **options)
    return json.loads(done.stdout), done.stderr


COMPILERS = {"jit", "njit", "vectorize", "guvectorize", "cfunc", "stencil", "generated_jit", "jitclass"}


def imports(path):
    """The names a source file imports, anywhere in it, as "module" or "module.name"."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_importing_is_light():
    code = (
        "import time; start = time.process_time(); import onlinekit; spent = time.process_time() - start\n"
        "import sys; assert not {'numba', 'river', 'numpy', 'onlinekit_plugins'} & set(sys.modules)\n"
        "assert spent < 0.1, spent"
    )
    python("-c", code)


def test_the_framework_imports_no_plugin_and_kernels_come_from_one_place():
    for path in SOURCES:
        names = set(imports(path))
        if path.is_relative_to(Path(onlinekit.__file__).parent):
            assert not {name for name in names if name.partition(".")[0] == "onlinekit_plugins"}, path
        if path.name != "jit.py":
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == "numba":
                    names.add(f"numba.{node.attr}")
            compilers = {name for name in names if name.startswith("numba.") and name.rpartition(".")[2] in COMPILERS}
            assert not compilers, f"{path} compiles with {compilers} and not with onlinekit.jit"


def kernels():
    """All compiled functions of the packages, by module and name."""
    found = {}
    for package in (onlinekit, onlinekit_plugins):
        for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if "_template" in info.name or info.name.endswith("__main__"):
                continue
            module = import_module(info.name)
            for name, value in vars(module).items():
                if isinstance(value, numba.core.dispatcher.Dispatcher) and value.__module__ == info.name:
                    found[f"{info.name}:{name}"] = value
    return found


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_every_kernel_is_compiled_in_the_same_way():
    everything = kernels()
    assert len(everything) > 20
    for name, dispatcher in everything.items():
        options = dispatcher.targetoptions
        assert options["nopython"] and options["nogil"] and options["error_model"] == "numpy", name
        assert not options.get("parallel") and not options.get("boundscheck"), name
        # Exact by default; a kernel may allow reordered sums, never that NaN or infinity are assumed away.
        assert set(options.get("fastmath") or ()) <= HARMLESS, name
        assert type(dispatcher._cache).__name__ == "FunctionCache", f"{name} is not cached on disk"


# CPU seconds of a cold start: 15 and 60 on cores of one's own (benchmarks/startup.py), half as much again where two
# test processes share them.
COLD, COLD_TOGETHER = 1.5 * 15.0, 1.5 * 60.0


@pytest.mark.parametrize(
    "name", ["logistic", *(pytest.param(name, marks=pytest.mark.slow) for name in LEARNERS if name != "logistic")]
)
def test_a_cold_and_a_warm_start(name):
    cold, warm = startup.learner(name)
    assert cold < COLD and warm < 1.0, f"CPU seconds: {cold:.1f} cold, {warm:.2f} warm"


@pytest.mark.slow
def test_a_cold_start_of_all_learners_together():
    assert startup.together(LEARNERS) < COLD_TOGETHER


def test_without_a_compiler_the_numbers_are_the_same():
    compiled, _ = work(*LEARNERS)
    plain, _ = work(*LEARNERS, env={"NUMBA_DISABLE_JIT": "1"})
    for name in LEARNERS:
        np.testing.assert_allclose(plain[name], compiled[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.fixture
def read_only():
    """An install in a folder without rights to write, with no home; yields the environment of its users."""
    folder = Path(tempfile.mkdtemp())
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(onlinekit.__file__).parent, folder / "onlinekit", ignore=ignore)
    shutil.copytree(Path(onlinekit_plugins.__file__).parent, folder / "onlinekit_plugins", ignore=ignore)
    info = folder / "onlinekit-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: onlinekit\nVersion: 9.9\n")
    lines = []
    for kind in ("learner", "monitor"):
        lines.append(f"[onlinekit.{kind}s]")
        lines += [f"{s.name} = {s.target}" for s in onlinekit.specs(kind) if s.distribution == "onlinekit"]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    env = {"HOME": str(folder / "nonexistent"), "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    elsewhere = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    yield {name: value for name, value in os.environ.items() if name not in elsewhere} | env
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    shutil.rmtree(folder)


@pytest.mark.skipif(os.name != "posix", reason="file rights are those of POSIX")
def test_a_read_only_install_without_a_home_works_with_one_warning(read_only):
    # The superuser may write everywhere unless it gives that right away.
    prefix = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"] if os.geteuid() == 0 else []
    if prefix and not shutil.which("setpriv"):
        pytest.skip("run as the superuser, without setpriv")

    def call(*arguments):
        done = subprocess.run(
            [*prefix, sys.executable, *arguments],
            env=read_only,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done

    with pytest.raises(AssertionError, match="Permission denied"):
        call("-c", f"open({read_only['PYTHONPATH'] + '/x'!r}, 'w')")
    assert read_only["PYTHONPATH"] in call("-c", "import onlinekit; print(onlinekit.__file__)").stdout
    done = call("-c", WORK, "logistic", "pa")
    want, _ = work("logistic", "pa")
    got = json.loads(done.stdout)
    assert got == want
    assert done.stderr.count("Warning") == 1 and "cannot be cached" in done.stderr, done.stderr
    assert "logistic" in call("-m", "onlinekit", "list").stdout


def test_the_distribution_holds_what_it_needs():
    project = ROOT / "pyproject.toml"
    if not project.is_file():
        pytest.skip("not a source tree")
    tables = tomllib.loads(project.read_text())
    points = tables["project"]["entry-points"]
    named = {name for group in ("onlinekit.learners", "onlinekit.monitors") for name in points[group]}
    assert named == {spec.name for spec in onlinekit.specs() if spec.distribution == "onlinekit"}
    packages = set(tables["tool"]["setuptools"]["packages"])
    folders = {
        "onlinekit_plugins." + ".".join(path.parent.relative_to(ROOT / "plugins").parts)
        for path in (ROOT / "plugins").rglob("__init__.py")
        if "_template" not in path.parts and path.parent != ROOT / "plugins"
    }
    assert folders <= packages, f"not in the wheel: {folders - packages}"


def compiled_twice():
    """The kernels with more than one signature after every learner was used by its public doors."""
    for name in LEARNERS:
        model = onlinekit.create("learner", name)
        stream = binary_stream(30, names=[0, 1, 2])
        X, y = np.array([list(x.values()) for x, _ in stream]), [label for _, label in stream]
        for x, label in stream:
            answer(model, x)
            model.learn_one(x, label)
        model.learn_many(X, y)
        model.predict_many(X[::2])
        if hasattr(model, "prequential_many"):
            model.prequential_many(X[:, ::-1], y)
            model.prequential_many(X.astype(np.float32), np.array(y))
            read_only = X.copy()
            read_only.flags.writeable = False  # as those of pandas 3 are
            model.prequential_many(read_only, np.array(y))
    # The packed triangles of the exact engines are copied from and to whole matrices and corners of larger ones.
    many = {"onlinekit_plugins.id_odm.packed_kernels:pack", "onlinekit_plugins.id_odm.packed_kernels:unpack"}
    # A constant argument makes a signature of its own where one kernel calls another; no door does.
    own = {name: {tuple(map(numba.types.unliteral, s)) for s in d.signatures} for name, d in kernels().items()}
    twice = {name: len(signatures) for name, signatures in own.items() if len(signatures) > 1 and name not in many}
    return twice


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_learner_is_used_by_its_public_doors_only_once_compiled():
    """One signature a kernel: the doors hand over the same types. In a process where no test called kernels itself."""
    code = "import json, test_environment; print(json.dumps(test_environment.compiled_twice()))"
    assert json.loads(python("-c", code, cwd=Path(__file__).parent).stdout) == {}
