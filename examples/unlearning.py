"""Delete on request: all records of a person leave a fraud model, exactly, and it can be proved.

    python examples/unlearning.py

The data are made up: 60 customers with eight card payments each.
"""

import struct
import tempfile
import time
from pathlib import Path

import numpy as np

import onlinekit
from onlinekit_plugins.id_odm import ODMClassifier


def payments(seed: int = 7) -> list[tuple[int, dict[str, float], bool]]:
    """(customer, features, fraud) of 480 payments; fraud is large, far from home and at night, with some noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for customer in range(60):
        for _ in range(8):
            amount, distance, night = rng.gamma(2.0, 0.5), rng.exponential(0.7), rng.random()
            fraud = amount + distance + night + 0.4 * rng.normal() > 2.8
            rows.append((customer, {"amount": amount, "distance": distance, "night": night}, bool(fraud)))
    return rows


def trained(rows: list[tuple[int, dict[str, float], bool]]) -> ODMClassifier:
    model = ODMClassifier(lam=10.0, theta=0.2, gamma=0.5)
    for customer, x, fraud in rows:
        model.learn_one(x, fraud, key=customer)  # one key for all records of a person
    return model


def main() -> None:
    rows = payments()
    fresh = np.array([list(x.values()) for _, x, _ in payments(seed=8)])
    names = list(rows[0][1])
    trained(rows[:30]).unlearn(0)  # compiles, or takes the compiled code from disk

    model = trained(rows)
    print(f"learned {model.n_samples} payments of {len(model.keys())} customers")

    start = time.perf_counter()
    model.unlearn(17)
    spent = time.perf_counter() - start
    print(f"customer 17 asked to be forgotten: 8 payments left the model in {1e3 * spent:.2f} ms")

    # Proof 1: it equals a model that never saw the customer.
    start = time.perf_counter()
    never = trained([row for row in rows if row[0] != 17])
    again = time.perf_counter() - start
    X = [dict(zip(names, row, strict=True)) for row in fresh.tolist()]
    gap = max(abs(model.predict_proba_one(x)[True] - never.predict_proba_one(x)[True]) for x in X)
    print(f"  largest difference of a probability to a model without them: {gap:.1e} (trained in {again:.2f} s)")

    # Proof 2: the optimality conditions over the payments that remain have one solution, and this is it.
    print(f"  largest violation of the optimality conditions: {model.kkt_residual():.1e}")

    # Proof 3: the values are gone from the saved model, byte by byte.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        onlinekit.save(model, path)
        saved = path.read_bytes()
    left = sum(struct.pack("<d", v) in saved for customer, x, _ in rows if customer == 17 for v in x.values())
    kept = sum(struct.pack("<d", v) in saved for customer, x, _ in rows if customer == 18 for v in x.values())
    print(f"  values found in the saved model: {left} of 24 of customer 17, {kept} of 24 of customer 18")
    assert gap < 1e-6 and model.kkt_residual() < 1e-8 and left == 0 and kept == 24

    # A wrong label is put right the same way, and one payment goes by its contents.
    model.relabel(18, False)
    customer, x, fraud = rows[0]
    model.unlearn_one(x, fraud)
    print(f"then one customer was relabelled and one payment went: {model.n_samples} remain")
    try:
        model.unlearn(17)
    except KeyError as error:
        print(f"asking twice: {error.args[0]}")


if __name__ == "__main__":
    main()
