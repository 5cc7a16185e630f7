"""The report: one file, nothing foreign in it, and what it shows."""

import html.parser
import re

import pytest
from river import datasets, dummy, linear_model, preprocessing

from onlinekit import Verdict, _figures
from onlinekit.evaluate import Result, prequential
from onlinekit.report import to_html


class Page(html.parser.HTMLParser):
    """Checks that tags are balanced and collects them."""

    void = {"meta"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links = [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


class Clock:
    def __init__(self, every):
        self.every, self.n = every, 0

    def update(self, x, y):
        self.n += 1

    def verdict(self):
        alarm = self.n >= self.every
        return Verdict("retrain" if alarm else "keep", statistic=1.5, n_added=self.n, reason="time <is> up")

    def rebase(self):
        self.n = 0


@pytest.fixture(scope="module")
def result():
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    return prequential(model, datasets.Phishing().take(400), monitor=Clock(100))


def test_self_contained_and_escaped():
    result = prequential(dummy.NoChangeClassifier(), [({}, "<b>"), ({}, "c")] * 20)
    text = to_html(result, "<script>", details={"<i>": "<u>"})
    page = Page(text)
    assert not {"script", "b>", "i", "u", "link", "img"} & set(page.tags) and not page.links
    assert "http" not in text and "url(" not in text and "@import" not in text
    assert "prefers-color-scheme:dark" in text and "width=device-width" in text


def test_every_section_is_there(result):
    text = to_html(result, "Phishing")
    Page(text)
    for heading in ("Accuracy over time", "Models and rules", "Confusion matrix", "Calibration", "Speed"):
        assert f"<h2>{heading}</h2>" in text
    assert f"{result.metrics['NoChange']:.4f}" in text and f"{result.metrics['Majority']:.4f}" in text
    assert "predict_proba_one" in text
    hits = sum(p == y is True for p, y in zip(result.predictions, result.truths, strict=True))
    assert f">{hits:,}</td>" in text


def test_only_retrains_are_marked_on_the_axis(result):
    text = to_html(result)
    assert [n for n, _ in result.verdicts] != result.retrains
    assert text.count('class="mark"') == len(result.retrains) == 4
    assert text.count("time &lt;is&gt; up") == 4


def test_results_beside_it(result):
    other = prequential(dummy.NoChangeClassifier(), datasets.Phishing().take(400))
    other.name = "nothing new"
    text = to_html(result, beside=[other])
    assert text.count('class="beside1"') == 2 and text.count("nothing new") >= 4
    assert "(not counting 1 for which it had no answer yet)" in text


def test_a_model_below_a_rule_is_told_so():
    text = to_html(prequential(dummy.PriorClassifier(), [({}, bool(t // 10 % 2)) for t in range(100)]))
    assert "points <b>below</b> the no-change rule" in text


def test_many_labels_are_cut_and_the_cut_is_told():
    result = prequential(dummy.NoChangeClassifier(), [({}, t % 50) for t in range(500)])
    text = to_html(result)
    assert "The 30 rarest labels are left out" in text
    assert len(re.findall(r"<td style", text)) == 20 * 20


def test_an_empty_result_has_a_page():
    assert "no samples" in to_html(Result())
    Page(to_html(Result()))


@pytest.mark.parametrize("low, high", [(0, 1), (0, 7), (0.3, 1.0), (0, 1250), (0, 45312), (0, 1e7)])
def test_ticks_are_few_round_and_inside(low, high):
    marks = _figures.ticks(low, high)
    assert 2 <= len(marks) <= 6 and low - 1e-9 <= marks[0] and marks[-1] <= high * (1 + 1e-9)


def test_file_is_written(result, tmp_path):
    result.to_html(tmp_path / "r.html", title="mine")
    assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
