"""Our `logistic` and `pa` beside other libraries' linear learners: CPU time a sample of predicting, then learning.

River, scikit-learn (SGDClassifier.partial_fit in batches of 100), Vowpal Wabbit and CapyMOA, as far as installed:
`pip install river scikit-learn vowpalwabbit capymoa` (CapyMOA needs Java). Dense streams of 8, 54 and 300 standard
normal features; a text-like stream whose every sample has 30 keys, 4 of them new, up to 40,000 keys; and the first
4,000 of the 9,324 mails of spam_corpus (39,916 words) from --data or ONLINEKIT_DATA. Contenders take turns in one
process, after a first round that is not counted; the median of the rounds is shown (of fewer rounds where one takes
long).

    python benchmarks/peers.py [--quick] [--data DIR] [--out benchmarks/results/peers.md]
"""

import argparse
import importlib.metadata
import os
import platform
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

import onlinekit

SLOW = 1.0  # CPU seconds after which a contender runs no further rounds


def dense(d, n, seed=0):
    """X (n, d) standard normal, y = sign of a noisy linear score."""
    rng = np.random.default_rng(seed + d)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) / np.sqrt(d) + 0.3 * rng.normal(size=n) > 0


def text(n, per=30, new=4, seed=0):
    """CSR (n, columns) of ones: `new` columns a row for the first time, the others mostly frequent ones; and y."""
    rng = np.random.default_rng(seed)
    rows, known = [], 0
    for _ in range(n):
        old = (known * rng.random(min(per - new, known)) ** 2).astype(int)
        rows.append(np.unique(np.concatenate([old, np.arange(known, known + new)])))
        known += new
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    X = sparse.csr_matrix((np.ones(indptr[-1]), np.concatenate(rows), indptr), shape=(n, known))
    return X, X @ rng.normal(size=known) > 0


def spam(folder):
    """spam_corpus as CSR and y, None where it is not."""
    path = Path(folder) / "spam_corpus.npz" if folder else None
    if path is None or not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as z:
        X = sparse.csr_matrix((z["X_data"], z["X_indices"], z["X_indptr"]), shape=tuple(z["X_shape"]))
        return X.astype(np.float64), z["y"] > 0


def dicts(X):
    """The rows as dicts with text keys."""
    if sparse.issparse(X):
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        return [{f"w{j}": v for j, v in zip(X.indices[a:b], X.data[a:b].tolist(), strict=True)} for a, b in ends]
    names = [f"f{j}" for j in range(X.shape[1])]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()]


# Each contender is prepare(X, y) -> run, and run() -> share of right predictions. Only run is timed.


def one_by_one(make):
    def prepare(X, y):
        stream = list(zip(dicts(X), y.tolist(), strict=True))

        def run():
            model, hits = make(), 0
            for x, label in stream:
                hits += model.predict_one(x) == label
                model.learn_one(x, label)
            return hits / len(stream)

        return run

    return prepare


def arrays(make):
    def prepare(X, y):
        def run():
            return float(np.mean(make().prequential_many(X, y) == y))

        return run

    return prepare


def ours(name):
    return lambda: onlinekit.create("learner", name)


def river_logistic():
    from river import linear_model

    return linear_model.LogisticRegression()


def river_pa():
    from river import linear_model

    return linear_model.PAClassifier(C=1.0, mode=1)


def sklearn_batches(X, y, size=100):
    from sklearn.linear_model import SGDClassifier

    def run():
        model, hits = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.01, alpha=0.0), 0
        for start in range(0, len(y), size):
            part, labels = X[start : start + size], y[start : start + size]
            if start:
                hits += int((model.predict(part) == labels).sum())
            model.partial_fit(part, labels, classes=[False, True])
        return hits / (len(y) - size)

    return run


def vowpal(X, y):
    """Its own input, text lines that are ready; the prediction is the one it makes before it learns."""
    from vowpalwabbit import Workspace

    names = {True: "1", False: "-1"}
    lines = [
        f"{names[label]} | " + " ".join(f"{key}:{value:.6g}" for key, value in x.items())
        for x, label in zip(dicts(X), y.tolist(), strict=True)
    ]

    def run():
        vw, hits = Workspace("--loss_function logistic --quiet -b 20"), 0
        for line, label in zip(lines, y.tolist(), strict=True):
            example = vw.parse(line)
            vw.learn(example)
            hits += (example.get_simplelabel_prediction() > 0) == label
            vw.finish_example(example)
        vw.finish()
        return hits / len(lines)

    return run


def capymoa(name):
    def prepare(X, y):
        from capymoa.base import MOAClassifier
        from capymoa.classifier import PassiveAggressiveClassifier
        from capymoa.core import LabeledInstance
        from capymoa.stream import NumpyStream
        from moa.classifiers.functions import SGD

        schema = NumpyStream(X, y.astype(int), target_type="categorical").get_schema()
        rows, labels = list(X), y.astype(int).tolist()

        def run():
            if name == "pa":
                model = PassiveAggressiveClassifier(schema)
            else:
                model = MOAClassifier(SGD(), schema=schema, CLI="-o LOGLOSS -r 0.01")
            hits = 0
            for x, label in zip(rows, labels, strict=True):
                instance = LabeledInstance.from_array(schema, x, label)
                hits += model.predict(instance) == label
                model.train(instance)
            return hits / len(rows)

        return run

    return prepare


# (library, learner and door, prepare, whether it takes sparse rows)
CONTENDERS = [
    ("onlinekit", "logistic, one by one", one_by_one(ours("logistic")), True),
    ("onlinekit", "pa, one by one", one_by_one(ours("pa")), True),
    ("onlinekit", "logistic, arrays", arrays(ours("logistic")), True),
    ("onlinekit", "pa, arrays", arrays(ours("pa")), True),
    ("river", "LogisticRegression", one_by_one(river_logistic), True),
    ("river", "PAClassifier", one_by_one(river_pa), True),
    ("scikit-learn", "SGDClassifier, batches of 100", sklearn_batches, True),
    ("vowpalwabbit", "logistic, text lines", vowpal, True),
    ("capymoa", "MOA SGD, logistic", capymoa("sgd"), False),
    ("capymoa", "PassiveAggressiveClassifier", capymoa("pa"), False),
]


def version(distribution):
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def contest(X, y, rounds):
    """Rows (library, learner, median CPU us a sample, accuracy) of the contenders that can run."""
    runs = []
    for library, learner, prepare, takes_sparse in CONTENDERS:
        if version(library) and (takes_sparse or not sparse.issparse(X)):
            runs.append((library, learner, prepare(X, y)))
    accuracy = [run() for _, _, run in runs]  # compiles, fills caches; not counted
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for k, (_, _, run) in enumerate(runs):
            if sum(times[k]) > SLOW:
                continue
            start = time.process_time()
            run()
            times[k].append(time.process_time() - start)
    return [
        (library, learner, statistics.median(spent) / len(y) * 1e6, share)
        for (library, learner, _), spent, share in zip(runs, times, accuracy, strict=True)
    ]


def growth(quick):
    """Least CPU us a sample around key 1,000 and key 40,000 of the text stream, and their ratio, for each door."""
    X, y = text(10_000)
    first, last = slice(250, 750), slice(9_500, 10_000)  # 1,000 to 3,000 and 38,000 to 40,000 keys known
    labels = y.tolist()
    out = []
    for name, make in (
        ("logistic", ours("logistic")),
        ("pa", ours("pa")),
        ("ogd", ours("ogd")),
        ("River LogisticRegression", river_logistic),
    ):
        spent = {"one by one": [], "CSR": []}
        for _ in range(2 if quick else 10):
            model, cost = make(), {first.start: 0.0, last.start: 0.0}
            for start in range(0, len(labels), 50):
                # As a stream brings them: just made. 36 MB of dicts made in advance would wait outside the caches.
                part = list(zip(dicts(X[start : start + 50]), labels[start : start + 50], strict=True))
                begin = time.process_time()
                for x, label in part:
                    model.predict_one(x)
                    model.learn_one(x, label)
                took = time.process_time() - begin
                for window in (first, last):
                    if window.start <= start < window.stop:
                        cost[window.start] += took
            spent["one by one"].append(list(cost.values()))
            if not hasattr(model, "prequential_many"):
                continue
            model, pair = make(), []
            for start, stop in ((0, 250), (250, 750), (750, 9_500), (9_500, 10_000)):
                # A mail at a time knows no later words: the matrix has the columns known by then.
                part = X[start:stop, : 4 * stop].tocsr()
                begin = time.process_time()
                model.prequential_many(part, y[start:stop])
                pair.append(time.process_time() - begin)
            spent["CSR"].append([pair[1], pair[3]])
        for door, pairs in spent.items():
            if len(pairs) > 1:
                # The least: keys beyond the core's own caches wait for those that all tenants of the machine share.
                low, high = (min(column) / 500 * 1e6 for column in zip(*pairs[1:], strict=True))
                out.append((f"{name}, {door}", low, high))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", default=os.environ.get("ONLINEKIT_DATA"), help="folder with spam_corpus.npz")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rounds, share = (1, 10) if options.quick else (3, 1)
    streams = [
        (f"{d} features, dense", *dense(d, max(500, n // share))) for d, n in ((8, 3000), (54, 2000), (300, 1000))
    ]
    streams.append(("text-like, 40,000 keys", *text(10_000 // share)))
    corpus = spam(options.data)
    if corpus:
        streams.append(("spam_corpus", corpus[0][: 4_000 // share], corpus[1][: 4_000 // share]))
    found = [f"{name} {version(name) or 'not installed'}" for name in dict.fromkeys(row[0] for row in CONTENDERS)]
    lines = [
        f"`python benchmarks/peers.py` (Python {platform.python_version()}, {platform.machine()}, "
        f"{os.cpu_count()} shared cores; {', '.join(found)}). CPU microseconds a sample, median of {rounds}; every "
        "learner with its own default step, so accuracies differ.",
    ]
    for name, X, y in streams:
        lines += ["", f"**{name}** ({len(y):,} samples)", "", "| library | learner | us a sample | accuracy |"]
        lines.append("|---|---|---|---|")
        for library, learner, spent, accuracy in contest(X, y, rounds):
            lines.append(f"| {library} | {learner} | {spent:.2f} | {accuracy:.3f} |")
    lines += ["", "**Cost while keys keep coming** (30 a sample, 4 of them new; least of the rounds)", ""]
    lines += ["| learner | at key 1,000, us | at key 40,000, us | growth |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {low:.1f} | {high:.1f} | {100 * (high / low - 1):+.0f} % |"
        for name, low, high in growth(options.quick)
    ]
    page = "\n".join(lines) + "\n"
    sys.stdout.write(page)
    if options.out:
        options.out.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
