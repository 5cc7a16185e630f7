"""The report's figures as SVG text: no script, colours by the page's CSS variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

__all__ = ["calibration", "curves", "ticks"]

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 20, 50

Line = tuple[str, Sequence[tuple[float, float]]]


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from low to high, at most `most` + 1: a step of 1, 2 or 5 times a power of ten.

    >>> ticks(0, 1250)
    [0.0, 500.0, 1000.0]
    """
    span = high - low
    if span <= 0:
        return [low]
    base = 10.0 ** math.floor(math.log10(span / most))
    step = next(m * base for m in (1, 2, 5, 10) if span / (m * base) <= most)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def curves(lines: Sequence[Line], n: int, marks: Sequence[int], label: str) -> str:
    """Shares over the number of samples, and vertical marks.

    Parameters
    ----------
    lines
        Pairs (CSS class, points (samples, share)).
    n
        The right end of the axis.
    marks
        Numbers of samples to mark.
    label
        What the figure shows, for readers who cannot see it.
    """
    shares = [share for _, points in lines for _, share in points]
    low = min(0.9, math.floor(min(shares, default=0.0) * 10 + 1e-9) / 10)
    x = _scale(0, max(1, n), LEFT, WIDTH - RIGHT)
    y = _scale(low, 1, HEIGHT - BOTTOM, TOP)
    out = [_grid(x, y, ticks(0, max(1, n)), ticks(low, 1), "samples", percent_x=False)]
    for at in marks:
        out.append(f'<path class="mark" d="M{x(at):.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
        out.append(f'<path class="flag" d="M{x(at) - 5:.1f} {TOP - 9}h10l-5 9z"/>')
    for css, points in lines:
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
        out.append(f'<polyline class="{css}" points="{path}"/>')
    return _svg(out, WIDTH, HEIGHT, label)


def calibration(rows: Sequence[tuple[float, float, int]], label: str) -> str:
    """Share that came true over predicted probability: a dot a bin, its area the share of samples in it.

    Parameters
    ----------
    rows
        (mean probability, share that came true, samples) of each bin.
    label
        What the figure shows, for readers who cannot see it.
    """
    size = 360
    x, y = _scale(0, 1, LEFT, size - RIGHT), _scale(0, 1, size - BOTTOM, TOP)
    fifths = [k / 5 for k in range(6)]
    out = [_grid(x, y, fifths, fifths, "predicted probability", percent_x=True, width=size, height=size)]
    out.append(f'<path class="ideal" d="M{x(0):.1f} {y(0):.1f}L{x(1):.1f} {y(1):.1f}"/>')
    path = " ".join(f"{x(p):.1f},{y(share):.1f}" for p, share, _ in rows)
    out.append(f'<polyline class="model" points="{path}"/>')
    total = sum(n for _, _, n in rows)
    for p, share, n in rows:
        radius = max(2.5, 16 * math.sqrt(n / total))
        about = f"{n} predictions of {100 * p:.0f} % on average: {100 * share:.0f} % came true"
        out.append(
            f'<circle class="dot" cx="{x(p):.1f}" cy="{y(share):.1f}" r="{radius:.1f}"><title>{about}</title></circle>'
        )
    return _svg(out, size, size, label)


class _scale:
    """The straight line through (a, A) and (b, B)."""

    def __init__(self, a: float, b: float, A: float, B: float) -> None:
        self.a, self.A, self.slope = a, A, (B - A) / (b - a)

    def __call__(self, value: float) -> float:
        return self.A + (value - self.a) * self.slope


def _grid(
    x: _scale,
    y: _scale,
    across: Sequence[float],
    up: Sequence[float],
    name: str,
    percent_x: bool,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> str:
    out = []
    for value in up:
        out.append(f'<path class="grid" d="M{LEFT} {y(value):.1f}H{width - RIGHT}"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{100 * value:.0f} %</text>')
    for value in across:
        text = f"{100 * value:.0f}" if percent_x else f"{value:,.0f}"
        # The outermost label must not stick out of the figure.
        anchor = "end" if x(value) > width - RIGHT - 20 else "middle"
        out.append(f'<path class="grid" d="M{x(value):.1f} {height - BOTTOM}v5"/>')
        out.append(f'<text x="{x(value):.1f}" y="{height - BOTTOM + 21}" text-anchor="{anchor}">{text}</text>')
    unit = ", %" if percent_x else ""
    middle = (LEFT + width - RIGHT) / 2
    out.append(f'<text x="{middle:.0f}" y="{height - 6}" text-anchor="middle">{name}{unit}</text>')
    return "".join(out)


def _svg(parts: Sequence[str], width: int, height: int, label: str) -> str:
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
