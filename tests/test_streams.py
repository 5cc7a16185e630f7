"""Streams by URI: what they give, skip and refuse."""

import numpy as np
import pytest

from onlinekit.streams import StreamError, open_stream


def test_csv_skips_and_counts(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y,b\n1,x,2\n,x,2\n3,z,oops\n4,,1\n5,1,6\n")
    stream = open_stream(path, target="y")
    assert list(stream) == list(stream) == [({"a": 1.0, "b": 2.0}, "x"), ({"a": 5.0, "b": 6.0}, 1)]
    assert stream.n_skipped == 3


def test_svmlight_npz_and_parquet(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:0.5 7:2 # c\n-1 2:1\n")
    assert list(open_stream(tmp_path / "a.svm")) == [({1: 0.5, 7: 2.0}, 1), ({2: 1.0}, -1)]
    np.savez(tmp_path / "d.npz", X=np.eye(2), y=np.array([0, 1]))
    assert list(open_stream(tmp_path / "d.npz"))[1] == ({0: 0.0, 1: 1.0}, 1)
    csr = {"X_data": [2.0], "X_indices": [5], "X_indptr": [0, 1, 1], "X_shape": [2, 9]}
    np.savez(tmp_path / "s.npz", y=[1, 0], **csr)
    assert list(open_stream(tmp_path / "s.npz")) == [({5: 2.0}, 1), ({}, 0)]
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1.0, None], "y": [True, False]}), tmp_path / "p.parquet")
    assert list(open_stream(tmp_path / "p.parquet")) == [({"a": 1.0}, True)]


def test_river():
    assert len(list(open_stream("river:Phishing", limit=7))) == 7
    with pytest.raises(StreamError, match="did you mean 'Phishing'"):
        open_stream("river:Phising")


@pytest.mark.parametrize(
    "name, text, cause",
    [
        ("a.csv", "", "empty"),
        ("a.csv", "a,target\n", "no rows"),
        ("a.csv", "a,label\n1,2\n", "no column"),
        ("a.csv", "a,target\n1,2\n3\n", "line 3"),
        ("a.csv", 'a,target\n1,2\n3,"4', "line 3"),
        ("a.svm", "1 1:2\n1 3:", "line 2"),
        ("a.npz", "PK", "intact"),
        ("a.parquet", "PAR1", "intact"),
        ("a.xyz", "1", "unknown kind"),
    ],
)
def test_errors_name_the_cause(tmp_path, name, text, cause):
    (tmp_path / name).write_text(text)
    with pytest.raises(StreamError, match=cause):
        list(open_stream(tmp_path / name, target="target"))


def test_missing_file():
    with pytest.raises(StreamError, match="no such file"):
        open_stream("nowhere.csv")
