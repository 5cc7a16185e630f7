from river import dummy

from onlinekit.evaluate import prequential
from onlinekit.report import to_html


def test_self_contained_and_escaped():
    result = prequential(dummy.NoChangeClassifier(), [({}, "<b>"), ({}, "c")] * 20)
    page = to_html(result, "<script>")
    assert "<script" not in page and "<b>" not in page and "http" not in page
    assert page.count("<polyline") == 3 and "prefers-color-scheme:dark" in page
