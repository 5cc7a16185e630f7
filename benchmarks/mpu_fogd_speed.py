"""Speed of mpu-fogd: kernels against NumPy and libm, blocks, sine and cosine, River end to end, start-up.

All times are CPU times of one thread, candidates interleaved in one process, the least of several rounds after
warm-up; ratios are what to look at.

    python benchmarks/mpu_fogd_speed.py [--quick] [--data DIR] [--out benchmarks/results/mpu_fogd_speed.md]
"""

import argparse
import copy
import math
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numba
import numpy as np
import river
from river import evaluate, linear_model, metrics, optim, preprocessing

from onlinekit.jit import kernel
from onlinekit_plugins.linear import OGDClassifier
from onlinekit_plugins.random_features import FOGDClassifier, MPUFOGDClassifier
from onlinekit_plugins.random_features.kernels import learn, run_blocked, run_rows
from onlinekit_plugins.random_features.sincos import cosines, sincos


def cpu(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def least(rounds, **works):
    """Name -> least CPU seconds, the candidates in turn each round."""
    for work in works.values():
        work()
    spent = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            spent[name].append(cpu(work))
    return {name: min(times) for name, times in spent.items()}


# -- candidates ----------------------------------------------------------------------------------------------


def numpy_loop(X, y, u, b, eta1, eta2, D):
    """The binary rule as one would write it in NumPy; u (D, d)."""
    u, w, a = u.copy(), np.zeros(D), math.sqrt(2) / D
    for x, sign in zip(X, y, strict=True):
        z = u @ x + b
        c = np.cos(z)
        if 1.0 - sign * a * (w @ c) > 0.0:
            g = a * sign * w * np.sin(z)
            w += eta1 * a * sign * c
            u -= eta2 * np.outer(g, x)


@kernel
def libm_loop(X, y, u, b, eta1, eta2):
    """The binary rule in one compiled loop with the sine and cosine of libm; u (d, D) as ours."""
    n, d = X.shape
    D = b.shape[0]
    a = math.sqrt(2.0) / D
    w, z, c, g = np.zeros(D), np.empty(D), np.empty(D), np.empty(D)
    for t in range(n):
        z[:] = b
        for j in range(d):
            row, x = u[j], X[t, j]
            for i in range(D):
                z[i] += x * row[i]
        f = 0.0
        for i in range(D):
            c[i] = math.cos(z[i])
            f += w[i] * c[i]
        if 1.0 - y[t] * a * f > 0.0:
            for i in range(D):
                g[i] = a * y[t] * w[i] * math.sin(z[i])
                w[i] += eta1 * a * y[t] * c[i]
            for j in range(d):
                row, x = u[j], eta2 * X[t, j]
                for i in range(D):
                    row[i] -= x * g[i]
    return w[0]


@kernel
def libm_cosines(z, c):
    """c_i = cos z_i by libm."""
    for i in range(z.shape[0]):
        c[i] = math.cos(z[i])


@kernel
def repeat_libm(z, c, times):
    """libm_cosines, many times."""
    for _ in range(times):
        libm_cosines(z, c)


@kernel
def repeat_cosines(z, c, times):
    """cosines, many times."""
    for _ in range(times):
        cosines(z, c)


@kernel
def repeat_sincos(z, s, c, times):
    """sincos, many times."""
    for _ in range(times):
        sincos(z, s, c)


@kernel
def one_by_one(X, y, w, *state):
    """The kernel of learn_one in a compiled loop: no turn waits, no blocks."""
    for t in range(X.shape[0]):
        learn(X[t], y[t], w[t], *state)


COLUMNS = ("numpy", "libm", "one", "waits", "blocks", "fogd", "ogd")


# -- tables --------------------------------------------------------------------------------------------------


def kernels_table(rounds, shapes):
    yield "## Learning a row: microseconds\n"
    yield "Labels at random and small steps, so that every row is learned: the most work there is. No scaling.\n"
    yield (
        "| d | D | type | NumPy | libm | one by one | turns wait | blocks | fogd | ogd | NumPy : ours | libm : ours "
        "| one by one : blocks | rows learned |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    for d, D in shapes:
        yield from shape_rows(rounds, d, D)
    yield ""


def shape_rows(rounds, d, D):
    """The lines of one shape of the kernels' table."""
    n = int(min(4000, max(128, 2e7 / (d * D))))
    rng = np.random.default_rng(d)
    X, code = rng.uniform(-1, 1, (n, d)), (rng.random(n) > 0.5).astype(np.int64)
    signs, w = 2.0 * code - 1.0, np.ones(n)
    u, b = rng.normal(size=(d, D)) / math.sqrt(d), rng.uniform(0, 6, D)
    few = max(20, n // 20)

    def state(cls, dtype):
        model = cls(D, alpha=1e-4, sigma=math.sqrt(d), standardize=False, dtype=dtype)
        model._grow_features(range(d))
        return model, model._take().args

    def candidates(dtype):
        model, one = state(MPUFOGDClassifier, dtype)
        waits, blocks = state(MPUFOGDClassifier, dtype)[1], state(MPUFOGDClassifier, dtype)[1]
        fixed = state(FOGDClassifier, dtype)[1]
        works = {
            "one": lambda: one_by_one(X, code, w, *one),
            "waits": lambda: run_rows(X, code, w, False, code, X, *waits),
            "blocks": lambda: run_blocked(X, code, w, False, code, X, *blocks),
            "fogd": lambda: run_blocked(X, code, w, False, code, X, *fixed),
        }
        if dtype == "float64":
            ogd = OGDClassifier(standardize=False)
            works["ogd"] = lambda: ogd.learn_many(X, code == 1)
            works["libm"] = lambda: libm_loop(X, signs, u.copy(), b, 1e-4 * D, 1e-3 * D)
            works["numpy"] = lambda: numpy_loop(X[:few], signs[:few], u.T, b, 1e-4 * D, 1e-3 * D, D)
        return model, works

    best = {}
    for dtype in ("float64", "float32"):
        model, works = candidates(dtype)
        us = {name: 1e6 * t / (few if name == "numpy" else n) for name, t in least(rounds, **works).items()}
        best[dtype] = min(us["waits"], us["blocks"])
        cells = [f"{us[name]:.2f}" if name in us else "-" for name in COLUMNS]
        cells += [f"{us[name] / best[dtype]:.1f}" if name in us else "-" for name in ("numpy", "libm")]
        cells += [f"{us['one'] / us['blocks']:.2f}", f"{model.n_updates / model._arrays['run'][0]:.2f}"]
        yield "| " + " | ".join([str(d), str(D), dtype, *cells]) + " |"
    yield f"| {d} | {D} | 64 : 32 | | | | {best['float64'] / best['float32']:.2f} | | | | | | | |"


def sincos_table(rounds):
    yield "## Sine and cosine of 1,000 values in a compiled loop: nanoseconds an element\n"
    yield "| type | math.cos | cosines | sincos | math.cos : cosines | largest error for abs(z) <= 1e5 |"
    yield "|---|---|---|---|---|---|"
    for dtype in (np.float64, np.float32):
        yield sincos_row(rounds, dtype)
    yield ""


def sincos_row(rounds, dtype, times=2000):
    """The line of one type of the table of sine and cosine."""
    rng = np.random.default_rng(0)
    z = rng.uniform(-10, 10, 1000).astype(dtype)
    s, c = np.empty_like(z), np.empty_like(z)
    spent = least(
        rounds,
        libm=lambda: repeat_libm(z, c, times),
        cosines=lambda: repeat_cosines(z, c, times),
        sincos=lambda: repeat_sincos(z, s, c, times),
    )
    ns = {name: t / times / 1000 * 1e9 for name, t in spent.items()}
    far = np.concatenate([rng.uniform(-1e5, 1e5, 500_000), np.arange(-60_000, 60_000) * (np.pi / 2)]).astype(dtype)
    sine, cosine = np.empty_like(far), np.empty_like(far)
    sincos(far, sine, cosine)
    exact = far.astype(np.longdouble)
    error = max(float(np.abs(cosine - np.cos(exact)).max()), float(np.abs(sine - np.sin(exact)).max()))
    return (
        f"| {np.dtype(dtype).name} | {ns['libm']:.2f} | {ns['cosines']:.2f} | {ns['sincos']:.2f} "
        f"| {ns['libm'] / ns['cosines']:.1f} | {error:.1e} |"
    )


def river_table(rounds, n_rows):
    yield "## River end to end: `progressive_val_score` with Accuracy, dicts in, scaling included; samples a second\n"
    yield "| d | ALMA | PA | LogReg | mpu-fogd D=200 | D=1000 | D=1000 float32 | D=200 : fastest linear |"
    yield "|---|---|---|---|---|---|---|---|"
    for d, n in zip((6, 54, 300), n_rows, strict=True):
        rng = np.random.default_rng(d)
        X = rng.normal(size=(n, d))
        y = np.sin(X[:, 0]) + X @ rng.normal(size=d) / math.sqrt(d) > 0
        names = [f"f{j}" for j in range(d)]
        stream = [(dict(zip(names, row.tolist(), strict=True)), bool(t)) for row, t in zip(X, y, strict=True)]

        def pipe(make):
            return lambda: preprocessing.StandardScaler() | make()

        makers = {
            "ALMA": pipe(linear_model.ALMAClassifier),
            "PA": pipe(linear_model.PAClassifier),
            "LogReg": pipe(lambda: linear_model.LogisticRegression(optimizer=optim.SGD(0.01))),
            "200": lambda: MPUFOGDClassifier(200),
            "1000": lambda: MPUFOGDClassifier(1000),
            "1000f": lambda: MPUFOGDClassifier(1000, dtype="float32"),
        }
        works = {
            name: lambda make=make, stream=stream: evaluate.progressive_val_score(stream, make(), metrics.Accuracy())
            for name, make in makers.items()
        }
        rate = {name: n / t for name, t in least(rounds, **works).items()}
        fastest = max(rate[name] for name in ("ALMA", "PA", "LogReg"))
        yield f"| {d} | " + " | ".join(f"{rate[name]:,.0f}" for name in makers) + f" | {rate['200'] / fastest:.1f} |"
    yield ""


START = """
import time, warnings
warnings.simplefilter("error")
start = time.process_time(); import numba; numba_s = time.process_time() - start
import river.base, scipy.sparse
start = time.process_time()
from onlinekit_plugins.random_features.mpu_fogd import MPUFOGDClassifier
ours = time.process_time() - start
x = {"a": 1.0, "b": 2.0}
start = time.process_time()
model = MPUFOGDClassifier(); model.predict_one(x); model.learn_one(x, True)
print(numba_s, ours, time.process_time() - start)
"""


def start_table():
    yield "## Start-up: CPU seconds of a fresh process\n"
    yield "| cache | import numba | import of ours after numba, River and SciPy | first predict and learn |"
    yield "|---|---|---|---|"
    with tempfile.TemporaryDirectory() as cache:
        for title in ("empty", "warm"):
            done = subprocess.run(
                [sys.executable, "-c", START],
                env={**os.environ, "NUMBA_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
            )
            yield f"| {title} | " + " | ".join(f"{float(v):.2f}" for v in done.stdout.split()) + " |"
    model = MPUFOGDClassifier()
    X = np.random.default_rng(0).normal(size=(500, 8))
    model.learn_many(X, X[:, 0] > 0)
    spent = least(
        50, pickle=lambda: pickle.loads(pickle.dumps(model)), deepcopy=lambda: copy.deepcopy(model), clone=model.clone
    )
    yield "\nAt D=200, d=8: " + ", ".join(f"{name} {1000 * t:.2f} ms" for name, t in spent.items()) + ".\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer shapes and rounds")
    parser.add_argument("--data", help="not needed: the rows are made here")
    parser.add_argument("--out", help="file to write instead of the screen")
    args = parser.parse_args()
    rounds = 3 if args.quick else 7
    shapes = [(8, 200), (54, 1000)] if args.quick else [
        (8, 200), (8, 1000), (54, 200), (54, 1000), (300, 200), (300, 1000), (300, 4000)
    ]  # fmt: skip
    processor = next(
        (line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    ) if Path("/proc/cpuinfo").exists() else platform.processor()  # fmt: skip
    lines = [
        "# Speed of mpu-fogd\n",
        f"`{' '.join(['python', *sys.argv])}`\n",
        f"Python {platform.python_version()}, Numba {numba.__version__}, NumPy {np.__version__}, River "
        f"{river.__version__}, {processor}, two cores shared with other work; least of {rounds} rounds.\n",
        *kernels_table(rounds, shapes),
        *sincos_table(rounds),
        *river_table(rounds, (2000, 800, 400) if args.quick else (6000, 3000, 2000)),
        *start_table(),
    ]
    text = "\n".join(lines)
    if args.out:
        Path(args.out).write_text(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
