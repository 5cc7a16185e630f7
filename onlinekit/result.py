"""What an evaluation saw, as data, a plot or a report."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Result"]


@dataclass
class Result:
    """What an evaluation saw.

    Parameters
    ----------
    name
        What to call the model.
    n_samples
        Samples whose label was revealed.
    metrics
        Name -> value, with "NoChange" and "Majority": the accuracies of the two baselines.
    curve
        Rows (samples so far, model, no-change, majority): accuracies within one window each. The model's counts the
        samples for which it had an answer, and is NaN where it had none.
    predictions, truths
        In the order in which labels arrived.
    confidences
        The probability that the model gave to its own prediction, NaN where it gave none.
    timings
        Seconds spent in "predict" (predict_one), "proba" (predict_proba_one) and "learn" (learn_one).
    warmed_up
        Whether the timings are without the compilation of kernels.
    verdicts
        Pairs (samples so far, verdict): each "retrain", and each change to another decision.

    Examples
    --------
    >>> Result().to_dict()["n_samples"]
    0
    """

    name: str = "model"
    n_samples: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    curve: list[tuple[int, float, float, float]] = field(default_factory=list)
    predictions: list[Any] = field(default_factory=list)
    truths: list[Any] = field(default_factory=list)
    confidences: array[float] = field(default_factory=lambda: array("d"))
    timings: dict[str, float] = field(default_factory=lambda: {"predict": 0.0, "proba": 0.0, "learn": 0.0})
    warmed_up: bool = True
    verdicts: list[tuple[int, Any]] = field(default_factory=list)

    @property
    def accuracy(self) -> float:
        """Share of right predictions, among those that are not None; 0.0 without any."""
        hits = sum(bool(p == y) for p, y in zip(self.predictions, self.truths, strict=True))
        answered = len(self.predictions) - self.predictions.count(None)
        return hits / answered if answered else 0.0

    @property
    def retrains(self) -> list[int]:
        """The numbers of samples at which the decision was "retrain"."""
        return [n for n, verdict in self.verdicts if verdict.decision == "retrain"]

    @property
    def samples_per_second(self) -> float:
        """n / (seconds of predicting and learning); 0.0 without samples."""
        seconds = sum(self.timings.values())
        return self.n_samples / seconds if seconds else 0.0

    def calibration(self, bins: int = 10) -> list[tuple[float, float, int]]:
        """Rows (mean probability, share that came true, samples) of equal bins of [0, 1]; empty bins left out.

        The probability is that of True where `is_binary`, else that of the prediction.

        Raises
        ------
        ValueError
            If bins is less than 1.

        Examples
        --------
        >>> Result(predictions=[True, False], truths=[True, True], confidences=array("d", [0.9, 0.9])).calibration(2)
        [(0.1, 1.0, 1), (0.9, 1.0, 1)]
        """
        if bins < 1:
            raise ValueError(f"bins must be at least 1, not {bins!r}")
        binary = self.is_binary
        total, hits, counts = [0.0] * bins, [0] * bins, [0] * bins
        for guess, truth, p in zip(self.predictions, self.truths, self.confidences, strict=True):
            if p != p:
                continue
            hit = guess == truth
            if binary and not guess:
                # P(True) is the rest; it came true exactly when the prediction False did not.
                p, hit = 1.0 - p, not hit
            k = min(int(p * bins), bins - 1)
            total[k] += p
            hits[k] += hit
            counts[k] += 1
        # Rounded, as 1 - .9 is not quite .1.
        return [(round(total[k] / n, 12), hits[k] / n, n) for k, n in enumerate(counts) if n]

    @property
    def is_binary(self) -> bool:
        """Whether every label and every prediction (None left out) is True or False, or 1 or 0."""
        labels = {*self.predictions, *self.truths} - {None}
        return labels <= {False, True}

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values; a verdict as a dict with the number of samples under "at"."""
        out = dict(vars(self))
        out["confidences"] = list(self.confidences)
        out["verdicts"] = [{"at": n, **asdict(verdict)} for n, verdict in self.verdicts]
        return out

    def to_html(
        self, path: str | os.PathLike[str], title: str = "Prequential evaluation", beside: Sequence[Result] = ()
    ) -> None:
        """Write the report to `path` as one self-contained HTML file.

        Parameters
        ----------
        path
            Of the file, which is replaced.
        title
            The page's heading.
        beside
            Results of other models on the same stream, to be shown beside this one.
        """
        from onlinekit.report import to_html

        Path(path).write_text(to_html(self, title, beside), encoding="utf-8")

    def plot(self, ax: Any = None) -> Any:
        """Draw accuracy over time with both baselines and the retrains; returns the matplotlib axes.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError as error:
                raise ImportError("Result.plot needs matplotlib: pip install matplotlib") from error
            ax = pyplot.subplots(figsize=(8, 4), layout="constrained")[1]
        samples = [row[0] for row in self.curve]
        for column, (label, style) in enumerate(
            ((self.name, "-"), ("no-change rule", ":"), ("majority rule", "--")), start=1
        ):
            colour = "tab:blue" if column == 1 else "gray"
            ax.plot(samples, [row[column] for row in self.curve], style, color=colour, label=label)
        for k, n in enumerate(self.retrains):
            ax.axvline(n, color="tab:red", linewidth=0.8, label="retrain" if k == 0 else None)
        ax.set(xlabel="samples", ylabel="accuracy in a window", ylim=(None, 1.02))
        ax.legend()
        return ax
