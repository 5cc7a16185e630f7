"""Streams by URI: what they give, skip and refuse."""

import csv
import json
import math

import numpy as np
import pytest

from onlinekit.streams import StreamError, open_stream, write_predictions


def test_csv_skips_and_counts(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y,b\n1,x,2\n,x,2\n3,z,oops\n4,,1\n4,nan,1\ninf,x,1\n5,1,6\n")
    stream = open_stream(path, target="y")
    assert list(stream) == list(stream) == [({"a": 1.0, "b": 2.0}, "x"), ({"a": 5.0, "b": 6.0}, 1)]
    assert stream.n_skipped == 5
    assert stream.skipped_reasons == {
        "a: missing or not a number": 1,
        "b: missing or not a number": 1,
        "a: not finite": 1,
        "label missing": 2,
    }


def test_svmlight_npz_and_parquet(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:0.5 7:2 # c\n\n-1 qid:3 2:1\n0 3:nan\n")
    stream = open_stream(tmp_path / "a.svm")
    assert list(stream) == [({1: 0.5, 7: 2.0}, 1), ({2: 1.0}, -1)]
    assert stream.n_skipped == 1
    np.savez(tmp_path / "d.npz", X=np.eye(2), y=np.array([0, 1]), other=np.array([5, 6]))
    assert list(open_stream(tmp_path / "d.npz"))[1] == ({0: 0.0, 1: 1.0}, 1)
    assert [y for _, y in open_stream(tmp_path / "d.npz", target="other")] == [5, 6]
    np.savez(tmp_path / "n.npz", X=np.array([[1.0], [np.nan], [2.0]]), y=np.array([0.0, 1.0, np.nan]))
    stream = open_stream(tmp_path / "n.npz")
    assert list(stream) == [({0: 1.0}, 0.0)] and stream.n_skipped == 2
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1.0, None], "y": [True, False]}), tmp_path / "p.parquet")
    stream = open_stream(tmp_path / "p.parquet")
    assert list(stream) == [({"a": 1.0}, True)] and (stream.n_samples, stream.n_skipped) == (2, 1)


CSR = {
    "X_data": np.array([2.0, 3.0]),
    "X_indices": np.array([5, 1]),
    "X_indptr": np.array([0, 2, 2]),
    "X_shape": np.array([2, 9]),
    "y": np.array([1, 0]),
}


def test_sparse_rows_stay_sparse(tmp_path):
    np.savez(tmp_path / "s.npz", **CSR)
    assert list(open_stream(tmp_path / "s.npz")) == [({5: 2.0, 1: 3.0}, 1), ({}, 0)]


@pytest.mark.parametrize(
    "name, value, cause",
    [
        ("X_indptr", [0, 2], "X_indptr has 2 numbers"),
        ("X_indptr", [0, 3, 2], "rise from 0 to 2"),
        ("X_indptr", [0, 2, 9], "rise from 0 to 2"),
        ("X_indptr", [1, 2, 2], "rise from 0 to 2"),
        ("X_indptr", [0.0, 2.0, 2.0], "whole numbers"),
        ("X_indices", [5, 9], "lie in 0 .. 8"),
        ("X_indices", [5, -1], "lie in 0 .. 8"),
        ("X_indices", [5], "X_data has 2 numbers and X_indices 1"),
        ("X_indices", [5, 5], "row 0 has a column twice"),
        ("X_shape", [2], "X_shape is"),
        ("X_data", ["a", "b"], "table of numbers"),
        ("y", [1], "X has 2 rows and y 1"),
        ("y", [[1, 0]], "a column"),
    ],
)
def test_a_malformed_csr_is_named(tmp_path, name, value, cause):
    np.savez(tmp_path / "s.npz", **{**CSR, name: np.array(value)})
    with pytest.raises(StreamError, match=cause) as error:
        open_stream(tmp_path / "s.npz")
    assert "\n" not in str(error.value)


def test_a_file_with_pickled_objects_runs_nothing(tmp_path):
    np.savez(tmp_path / "o.npz", X=np.eye(2), y=np.array([print, 1], dtype=object))
    with pytest.raises(StreamError, match="no intact .npz file"):
        open_stream(tmp_path / "o.npz")


def test_river():
    stream = open_stream("river:Phishing", limit=7)
    assert len(list(stream)) == stream.n_samples == 7
    assert open_stream("river:Phishing").n_samples == 1250
    with pytest.raises(StreamError, match="did you mean 'Phishing'"):
        open_stream("river:Phising")
    with pytest.raises(StreamError, match="its task is regression"):
        open_stream("river:TrumpApproval")
    with pytest.raises(StreamError, match="its task is multi-output"):
        open_stream("river:SolarFlare")


def test_river_sets_with_text_features_are_refused(monkeypatch):
    from river import datasets

    class Spam(datasets.Phishing):
        def __iter__(self):
            yield {"subject": "buy"}, True

    monkeypatch.setattr(datasets, "Phishing", Spam)
    with pytest.raises(StreamError, match="feature 'subject' is of type str, numbers are needed"):
        list(open_stream("river:Phishing"))


@pytest.mark.parametrize(
    "name, text, cause",
    [
        ("a.csv", "", "empty"),
        ("a.csv", "\n\n", "empty"),
        ("a.csv", "a,target\n", "no rows"),
        ("a.csv", "a,label\n1,2\n", "no column"),
        ("a.csv", "a,targets\n1,2\n", "did you mean 'targets'"),
        ("a.csv", "a,a,target\n1,2,3\n", "two columns 'a'"),
        ("a.csv", "a,target\n1,2\n3\n", "line 3"),
        ("a.csv", 'a,target\n1,2\n3,"4', "line 3"),
        ("a.csv", b"a,target\n\xff\xfe,2\n", "broken after line"),
        ("a.svm", "1 1:2\n1 3:", "line 2"),
        ("a.svm", "spam 1:2\n", "line 1"),
        ("a.svm", "1 1:2 1:3\n", "a feature twice"),
        ("a.svm", "# nothing\n", "no rows"),
        ("a.npz", "PK", "intact"),
        ("a.parquet", "PAR1", "intact"),
        ("a.xyz", "1", "unknown kind"),
    ],
)
def test_errors_name_the_file_and_the_cause(tmp_path, name, text, cause):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(StreamError, match=cause) as error:
        list(open_stream(tmp_path / name, target=None if name == "a.svm" else "target"))
    assert name in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_a_binary_file_cut_anywhere_is_refused(tmp_path, kind):
    X = np.arange(20.0).reshape(10, 2)
    path = tmp_path / f"a.{kind}"
    if kind == "npz":
        np.savez_compressed(path, X=X, y=np.arange(10))
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"a": X[:, 0], "y": X[:, 1]}), path)
    whole = path.read_bytes()
    for cut in range(1, len(whole), 37):
        path.write_bytes(whole[:cut])
        with pytest.raises(StreamError):
            list(open_stream(path))


def test_missing_file_and_options_without_sense(tmp_path):
    with pytest.raises(StreamError, match="no such file"):
        open_stream("nowhere.csv")
    with pytest.raises(StreamError, match="no such file"):
        open_stream(tmp_path)
    with pytest.raises(StreamError, match="negative"):
        open_stream("river:Phishing", limit=-1)
    with pytest.raises(StreamError, match="no column 'y' to choose"):
        open_stream("river:Phishing", target="y")
    (tmp_path / "a.svm").write_text("1 1:2\n")
    with pytest.raises(StreamError, match="no column 'y'"):
        open_stream(tmp_path / "a.svm", target="y")


def test_predictions_to_a_file(tmp_path):
    rows = [("a", "b", 0.75), ("a", None, math.nan)]
    write_predictions(tmp_path / "p.csv", rows)
    with open(tmp_path / "p.csv", newline="") as file:
        assert list(csv.reader(file)) == [["truth", "prediction", "confidence"], ["a", "b", "0.75"], ["a", "", ""]]
    write_predictions(tmp_path / "p.jsonl", rows)
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert lines[1] == {"truth": "a", "prediction": None, "confidence": None}
    with pytest.raises(StreamError, match=".csv or .jsonl"):
        write_predictions(tmp_path / "p.xls", rows)


def test_a_limit_beyond_any_stream_is_none():
    assert sum(1 for _ in open_stream("river:Phishing", limit=10**30)) == 1250
