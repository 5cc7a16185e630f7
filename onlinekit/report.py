"""An evaluation as one self-contained HTML file: no script, no external resource."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import Any

__all__ = ["to_html"]

_STYLE = """:root{color-scheme:light dark;--bg:#fff;--fg:#222;--c1:#06c}
@media(prefers-color-scheme:dark){:root{--bg:#16181c;--fg:#ddd;--c1:#6af}}
body{background:var(--bg);color:var(--fg);font:16px/1.5 sans-serif;max-width:60rem;margin:auto;padding:1rem}
svg{width:100%;height:auto}div{overflow-x:auto}td,th{padding:.2rem .8rem;text-align:right}
polyline{fill:none;stroke-width:2}text{fill:var(--fg);font-size:12px}"""


def to_html(result: Any, title: str = "onlinekit run") -> str:
    """The report of a `Result` as the text of an HTML page.

    >>> from onlinekit.evaluate import Result
    >>> to_html(Result()).startswith("<!doctype html>")
    True
    """
    seconds = {f"{k}, us a sample": v / max(1, result.n_samples) * 1e6 for k, v in result.timings.items()}
    rows = [("samples", str(result.n_samples))]
    rows += [(k, f"{v:.4g}") for k, v in {**result.metrics, **seconds}.items()]
    summary = "".join(f"<tr><th>{escape(k)}</th><td>{v}</td></tr>" for k, v in rows)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style><h1>{escape(title)}</h1>"
        f"<div><table>{summary}</table></div><h2>Accuracy over time</h2>{_curve(result)}"
        f"<h2>Confusion matrix</h2><div>{_confusion(result)}</div></html>"
    )


def _curve(result: Any) -> str:
    scale = 700 / max(1, result.n_samples)
    out = ""
    series = ((1, "var(--c1)", "model"), (2, "#c60", "no change"), (3, "#888", "majority"))
    for column, colour, name in series:
        points = " ".join(f"{40 + row[0] * scale:.1f},{220 - 200 * row[column]:.1f}" for row in result.curve)
        out += f'<polyline points="{points}" style="stroke:{colour}"/>'
        out += f'<text x="{column * 120 - 80}" y="250" style="fill:{colour}">{name}</text>'
    for n, verdict in result.verdicts:
        x = 40 + n * scale
        out += f'<line x1="{x:.1f}" x2="{x:.1f}" y1="20" y2="220" stroke="#888" stroke-dasharray="3"/>'
        out += f'<text x="{x:.1f}" y="14">{escape(str(verdict.decision))}</text>'
    axis = '<text x="5" y="24">1.0</text><text x="5" y="224">0.0</text>'
    return f'<svg viewBox="0 0 760 260" role="img" aria-label="accuracy over time">{axis}{out}</svg>'


def _confusion(result: Any) -> str:
    counts = Counter(zip(result.truths, result.predictions, strict=True))
    labels = sorted({label for pair in counts for label in pair}, key=str)
    head = "".join(f"<th>{escape(str(label))}</th>" for label in labels)
    body = "".join(
        f"<tr><th>{escape(str(y))}</th>" + "".join(f"<td>{counts[y, p]}</td>" for p in labels) + "</tr>" for y in labels
    )
    return f"<table><tr><th>true \\ predicted</th>{head}</tr>{body}</table>"
