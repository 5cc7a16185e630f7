"""A stream that no straight line can separate, learned one sample at a time in five lines.

    python examples/nonlinear_stream.py

Runs on the Bananas data that ship with River: two classes, two features, each class a bent cloud around the other.
"""

from river import datasets, evaluate, linear_model, metrics, preprocessing

import onlinekit


def main() -> None:
    # The five lines. The learner scales its features and chooses the width of its kernel itself.
    model = onlinekit.create("learner", "mpu-fogd")
    right = 0
    for x, y in datasets.Bananas():
        right += model.predict_one(x) == y
        model.learn_one(x, y)

    print(f"mpu-fogd              {100 * right / datasets.Bananas().n_samples:.2f} % right, each before it was learned")
    linear = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    accuracy = evaluate.progressive_val_score(datasets.Bananas(), linear, metrics.Accuracy())
    print(f"logistic regression   {100 * accuracy.get():.2f} %")
    print(f"kernel width          {model.sigma_used:.2f} standard deviations, drawn from the data")
    print(f"samples that taught   {model.n_updates} of {datasets.Bananas().n_samples}")

    # More than two classes: any labels, found as they come.
    segments = onlinekit.create("learner", "mpu-fogd", classes=None)
    accuracy = evaluate.progressive_val_score(datasets.ImageSegments(), segments, metrics.Accuracy())
    print(f"seven kinds of image  {100 * accuracy.get():.2f} %")


if __name__ == "__main__":
    main()
