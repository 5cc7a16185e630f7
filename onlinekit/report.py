"""An evaluation as one self-contained HTML file: no script, no external resource."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from onlinekit import _figures

__all__ = ["to_html"]

# A confusion matrix of more labels than this is a wall of numbers: the most frequent ones are shown.
MOST_LABELS = 20
MOST_EVENTS = 30

_STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1d2026;--soft:#5b6370;--line:#e1e4ea;--card:#f5f6f9;
--c1:#0b5fd0;--c2:#c2410c;--c3:#7c3aed;--rule:#6b7280;--mark:#be123c;--heat:11,95,208}
@media(prefers-color-scheme:dark){:root{--bg:#14161b;--fg:#e6e8ec;--soft:#a3abb9;--line:#2d323c;--card:#1d2027;
--c1:#6aaeff;--c2:#ff9f5a;--c3:#c4a5ff;--rule:#98a1b0;--mark:#ff7d95;--heat:106,174,255}}
*{box-sizing:border-box}
body{background:var(--bg);color:var(--fg);font:16px/1.55 system-ui,sans-serif;max-width:60rem;
margin:auto;padding:1.2rem;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.2;margin:.4rem 0}h2{font-size:1.15rem;margin:2.2rem 0 .4rem}
p{margin:.3rem 0 .7rem}.soft{color:var(--soft)}small{color:var(--soft)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.6rem;margin:1rem 0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.6rem .8rem}
.tile b{display:block;font-size:1.45rem;line-height:1.3}
.wide{overflow-x:auto}table{border-collapse:collapse}th,td{padding:.25rem .7rem;text-align:right;white-space:nowrap}
thead th,tbody tr{border-bottom:1px solid var(--line)}th{font-weight:600}tbody th,.left{text-align:left}
tbody th,td.left{white-space:normal;overflow-wrap:break-word}
td.reason{white-space:normal;min-width:14rem;text-align:left}
svg{width:100%;height:auto;display:block}svg text{fill:var(--soft);font-size:11.5px}
.square{max-width:27rem}.square svg text{font-size:12.5px}
polyline{fill:none;stroke-width:2.2;stroke-linejoin:round}
.model{stroke:var(--c1)}.beside1{stroke:var(--c2)}.beside2{stroke:var(--c3)}
.nochange,.majority{stroke:var(--rule);stroke-width:1.4}.nochange{stroke-dasharray:2 4}.majority{stroke-dasharray:8 4}
.grid{stroke:var(--line);fill:none}.mark{stroke:var(--mark);stroke-width:1;opacity:.55}.flag{fill:var(--mark)}
.ideal{stroke:var(--rule);stroke-dasharray:4 4;fill:none}.dot{fill:var(--c1);fill-opacity:.75}
ul.key{display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;list-style:none;padding:0;margin:.3rem 0;font-size:.92rem}
ul.key svg{display:inline-block;width:28px;height:12px;margin-right:.4rem;vertical-align:middle}
@media(max-width:560px){body{padding:.8rem}svg text{font-size:19px}.square svg text{font-size:14px}
th,td{padding:.2rem .45rem}
td.reason{min-width:20rem}}
@media print{body{max-width:none}}
"""


def to_html(
    result: Any,
    title: str = "Prequential evaluation",
    beside: Sequence[Any] = (),
    details: Mapping[str, Any] | None = None,
) -> str:
    """The report of a `Result` as the text of an HTML page.

    Parameters
    ----------
    result
        The result the page is about.
    title
        The page's heading.
    beside
        Results of other models on the same stream; two are drawn, all are in the table.
    details
        Further lines of the last table: what was run, on what.

    Examples
    --------
    >>> from onlinekit.result import Result
    >>> to_html(Result()).startswith("<!doctype html>")
    True
    """
    everything = [result, *beside]
    body = [f"<h1>{escape(title)}</h1>", _summary(result, beside), _tiles(result)]
    body += [_curve(result, beside), _comparison(everything)]
    body += [_events(each) for each in everything if each.retrains]
    body += [_confusion(result), _calibration(result), _speed(everything), _details(details or {})]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _summary(result: Any, beside: Sequence[Any]) -> str:
    if not result.n_samples:
        return "<p>The stream had no samples.</p>"
    own = result.accuracy
    rule, best = max(
        (("no-change rule", result.metrics["NoChange"]), ("majority rule", result.metrics["Majority"])),
        key=lambda pair: pair[1],
    )
    gap = 100 * (own - best)
    words = "points above" if gap >= 0 else "points <b>below</b>"
    text = (
        f"<b>{escape(result.name)}</b> was right on {_percent(own)} of {result.n_samples:,} samples{_silence(result)}, "
        f"each predicted before it was learned: {abs(gap):.1f} {words} the {rule} ({_percent(best)})."
    )
    for other in beside:
        events = len(other.retrains)
        told = f", retrained {events} time{'s' * (events != 1)}" if other.verdicts else ""
        silence = _silence(other)
        text += f" Beside it, <b>{escape(other.name)}</b> reached {_percent(other.accuracy)}{silence}{told}."
    return f"<p>{text}</p>"


def _silence(result: Any) -> str:
    n = result.predictions.count(None)
    return f" (not counting {n:,} for which it had no answer yet)" if n else ""


def _tiles(result: Any) -> str:
    tiles = [("samples", f"{result.n_samples:,}")]
    tiles += [(name, f"{value:.4g}") for name, value in result.metrics.items() if name not in ("NoChange", "Majority")]
    tiles += [("samples a second", f"{result.samples_per_second:,.0f}")]
    if result.verdicts:
        tiles.append(("retrain verdicts", str(len(result.retrains))))
    cells = (f'<div class="tile"><b>{value}</b><small>{escape(name)}</small></div>' for name, value in tiles)
    return f'<div class="tiles">{"".join(cells)}</div>'


def _key(css: str, name: str) -> str:
    shape = (
        '<path class="flag" d="M9 1h10l-5 10z"/>' if css == "flag" else f'<polyline class="{css}" points="0,6 28,6"/>'
    )
    return f'<li><svg viewBox="0 0 28 12" aria-hidden="true">{shape}</svg>{escape(name)}</li>'


def _curve(result: Any, beside: Sequence[Any]) -> str:
    if not result.curve:
        return ""
    drawn = [("majority", "majority rule", result, 3), ("nochange", "no-change rule", result, 2)]
    drawn += [(f"beside{k}", other.name, other, 1) for k, other in enumerate(beside[:2], start=1)]
    drawn.append(("model", result.name, result, 1))
    lines = [
        (css, [(row[0], row[column]) for row in each.curve if row[column] == row[column]])
        for css, _, each, column in drawn
    ]
    marks = [n for each in (result, *beside) for n in each.retrains]
    figure = _figures.curves(lines, result.n_samples, marks, "accuracy over the number of samples")
    key = "".join(_key(css, name) for css, name, _, _ in reversed(drawn))
    if marks:
        key += _key("flag", "retrain")
    window = result.curve[0][0]
    return (
        f'<h2>Accuracy over time</h2><p class="soft">Share of right predictions in windows of {window:,} samples.</p>'
        f'<ul class="key">{key}</ul>{figure}'
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are HTML; the first of each row is its heading, and one that is long text is set as such."""
    first = "".join(f"<th>{cell}</th>" for cell in head)
    body = ""
    for name, *cells in rows:
        shown = (f"<td{' class=reason' if len(cell) > 30 else ''}>{cell}</td>" for cell in cells)
        body += f"<tr><th>{name}</th>{''.join(shown)}</tr>"
    return f'<div class="wide"><table><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table></div>'


def _comparison(everything: Sequence[Any]) -> str:
    if not everything[0].n_samples:
        return ""
    names = list(dict.fromkeys(name for each in everything for name in each.metrics))
    shown = [name for name in names if name not in ("NoChange", "Majority")]
    head = ["", *map(escape, shown), "accuracy", "retrains"]
    head = [cell for cell in head if cell != "accuracy" or "Accuracy" not in shown]
    rows = []
    for each in everything:
        row = [escape(each.name), *(f"{each.metrics[name]:.4f}" if name in each.metrics else "" for name in shown)]
        if "Accuracy" not in shown:
            row.append(f"{each.accuracy:.4f}")
        rows.append([*row, str(len(each.retrains)) if each.verdicts else "–"])
    for name, key in (("no-change rule", "NoChange"), ("majority rule", "Majority")):
        value = f"{everything[0].metrics[key]:.4f}"
        accuracy = shown.index("Accuracy") if "Accuracy" in shown else len(shown)
        width = len(head) - 1
        rows.append([name, *(value if k == accuracy else "–" for k in range(width))])
    about = "The no-change rule repeats the last label, the majority rule the most frequent one so far."
    return f'<h2>Models and rules</h2>{_table(head, rows)}<p class="soft">{about}</p>'


def _number(value: Any) -> str:
    return "–" if value is None else f"{value:.4g}"


def _events(result: Any) -> str:
    events = [(n, verdict) for n, verdict in result.verdicts if verdict.decision == "retrain"]
    rows = [
        (
            f"{n:,}",
            "proof" if v.certified else "no proof",
            _number(v.statistic),
            _number(v.threshold),
            f"{v.n_added:,} / {v.n_removed:,}",
            escape(v.reason),
        )
        for n, v in events[:MOST_EVENTS]
    ]
    table = _table(["sample", "certified", "statistic", "threshold", "added / removed", "reason"], rows)
    more = f'<p class="soft">and {len(events) - MOST_EVENTS} more</p>' if len(events) > MOST_EVENTS else ""
    return f"<h2>Retrain verdicts: {escape(result.name)}</h2>{table}{more}"


def _confusion(result: Any) -> str:
    if not result.n_samples:
        return ""
    counts = Counter(zip(result.truths, result.predictions, strict=True))
    often: Counter[Any] = Counter(result.truths)
    for guess in result.predictions:
        often.setdefault(guess, 0)
    labels = [label for label, _ in often.most_common(MOST_LABELS)]
    labels = [label for label in sorted(labels, key=_order) if label is not None]
    head = "".join(f"<th>{escape(str(label))}</th>" for label in labels)
    body = ""
    for y in labels:
        total = max(1, often[y])
        cells = ""
        for p in labels:
            share = counts[y, p] / total
            cells += f'<td style="background:rgba(var(--heat),{0.65 * share:.3f})">{counts[y, p]:,}</td>'
        body += f"<tr><th>{escape(str(y))}</th>{cells}<td><small>{_percent(counts[y, y] / total)}</small></td></tr>"
    about = "Rows are true labels, columns predictions; the last column is the share that was found (recall)."
    if len(often) > len(labels):
        rest = len(often) - len(labels) - (None in often)
        about += " Samples before the first prediction are left out." if None in often else ""
        about += f" The {rest} rarest labels are left out." if rest else ""
    head = f"<th>true \\ predicted</th>{head}<th><small>recall</small></th>"
    return (
        f'<h2>Confusion matrix</h2><p class="soft">{about}</p>'
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _order(label: Any) -> tuple[bool, Any, str]:
    number = isinstance(label, (bool, int, float))
    return not number, label if number else 0, str(label)


def _calibration(result: Any) -> str:
    rows = result.calibration()
    if not rows:
        return ""
    n = sum(row[2] for row in rows)
    error = sum(abs(p - share) * count for p, share, count in rows) / n
    of = "True" if result.is_binary else "the predicted label"
    figure = _figures.calibration(rows, "share that came true over predicted probability")
    about = (
        f"How often {of} came true over the probability given to it. A dot is a bin of predictions, its area their "
        "number; on the dashed line probabilities mean what they say, below it they are too high. "
        f"Mean distance from the line: {100 * error:.1f} points."
    )
    return f'<h2>Calibration</h2><p class="soft">{about}</p><div class="square">{figure}</div>'


def _speed(everything: Sequence[Any]) -> str:
    rows = []
    for each in everything:
        micro = [each.timings.get(k, 0.0) / max(1, each.n_samples) * 1e6 for k in ("predict", "proba", "learn")]
        rows.append([escape(each.name), *(f"{value:,.1f}" for value in micro), f"{each.samples_per_second:,.0f}"])
    head = ["&micro;s a sample", "predict_one", "predict_proba_one", "learn_one", "samples a second"]
    about = "Wall-clock time; compilation is not in it (the first samples are run on a copy of the model beforehand)."
    if not all(each.warmed_up for each in everything):
        cold = ", ".join(escape(each.name) for each in everything if not each.warmed_up)
        about += f" It is for {cold}, which cannot be copied."
    return f'<h2>Speed</h2>{_table(head, rows)}<p class="soft">{about}</p>'


def _details(details: Mapping[str, Any]) -> str:
    if not details:
        return ""
    rows = [(escape(name), escape(str(value))) for name, value in details.items()]
    body = "".join(f'<tr><th>{name}</th><td class="left">{value}</td></tr>' for name, value in rows)
    return f'<h2>What was run</h2><div class="wide"><table><tbody>{body}</tbody></table></div>'
