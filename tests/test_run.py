"""`onlinekit run` from its options to its report, and one clear line for everything that is wrong."""

import csv
import re
import subprocess
import sys

import numpy as np
import pytest
from river import base

import onlinekit
from onlinekit.run import main

ROWS = "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(100))


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder to work in, with data.csv."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("a,b,label\n" + ROWS)
    return tmp_path


def table(text):
    """First word of a line -> the rest of its words."""
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line}


def test_no_arguments_at_all(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "onlinekit", "run"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "no terminal, no progress bar"
    assert table(done.stdout)["samples"] == ["1250"]
    assert table(done.stdout)["mpu-fogd"] and table(done.stdout)["linear,"][:3] == ["retrained", "by", "newton-test"]
    page = (tmp_path / "onlinekit-run" / "report.html").read_text()
    assert "<svg" in page and "river:Phishing" in page and 'class="mark"' in page


def test_a_terminal_gets_a_bar_with_live_metrics(data, capsys, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["--limit", "200"]) == 0
    error = capsys.readouterr().err
    assert "200/200" in error and re.search(r"Accuracy=0\.\d+", error)


@pytest.mark.parametrize(
    "stream, learner, monitor",
    [
        ("data.csv", "mpu-fogd", "newton-test"),
        ("three.csv", "mpu-fogd", "adwin"),
        ("wide.svm", "mpu-fogd", "adwin"),
    ],
)
def test_the_default_learner_and_monitor(stream, learner, monitor, data, capsys):
    (data / "three.csv").write_text("a,label\n" + "".join(f"{i},{i % 3}\n" for i in range(60)))
    (data / "wide.svm").write_text("".join(f"{i % 2} {3 * i + 1}:1\n" for i in range(110)))
    assert main(["--stream", stream]) == 0
    page = (data / "onlinekit-run" / "report.html").read_text()
    assert f">{learner}: " in page and f">{monitor}: " in page
    assert ("linear, retrained by newton-test" in capsys.readouterr().out) == (monitor == "newton-test")


def test_save_then_resume_is_one_long_run(data, capsys):
    text = (data / "data.csv").read_text().splitlines(keepends=True)
    (data / "first.csv").write_text("".join(text[:51]))
    (data / "second.csv").write_text(text[0] + "".join(text[51:]))
    common = ["--set", "lr=0.5", "--learner", "logistic", "--monitor", "none"]
    assert main(["--stream", "data.csv", "--save", "whole.ok", *common]) == 0
    assert main(["--stream", "first.csv", "--save", "half.ok", *common]) == 0
    assert main(["--stream", "second.csv", "--resume", "half.ok", "--save", "both.ok", "--monitor", "none"]) == 0
    whole, both = onlinekit.load("whole.ok"), onlinekit.load("both.ok")
    assert both.lr == 0.5
    for a in range(7):
        x = {"a": a, "b": 1.0}
        assert whole.predict_proba_one(x) == both.predict_proba_one(x)
    assert "both.ok" in capsys.readouterr().out


def test_a_config_file_and_skipped_rows(data, capsys):
    (data / "data.csv").write_text("a,label,b\n" + "1,yes,2\n2,no,3\n" * 50 + "x,yes,1\n,no,1\n3,,1\n")
    (data / "run.toml").write_text(
        'stream = "data.csv"\ntarget = "label"\nlearner = "pa"\nout = "there"\nmonitor = "none"\n'
        'limit = 90\npredictions = "p.csv"\n[set]\nC = 0.5\n'
    )
    assert main(["--config", "run.toml", "--limit", "1000", "--set", "C=0.25"]) == 0
    out = table(capsys.readouterr().out)
    assert out["samples"] == ["100"], "the command line wins over the file"
    assert out["skipped"] == "3: a: missing or not a number (2), label missing (1)".split()
    page = (data / "there" / "report.html").read_text()
    assert "C=0.25" in page and "a: missing or not a number (2)" in page
    rows = list(csv.DictReader(open(data / "p.csv")))
    assert len(rows) == 100 and {row["truth"] for row in rows} == {"yes", "no"}


def test_labels_of_every_kind_reach_a_learner_that_can_take_them(data):
    (data / "words.csv").write_text("a,label\n" + "".join(f"{i % 3},class {i % 3}\n" for i in range(60)))
    assert main(["--stream", "words.csv", "--save", "words.ok"]) == 0
    assert onlinekit.load("words.ok").classes is None
    (data / "signs.svm").write_text("".join(f"{'+1' if i % 2 else '-1'} 1:{i % 2}\n" for i in range(60)))
    for spec in onlinekit.specs("learner"):
        if not issubclass(onlinekit.get("learner", spec.name), base.Classifier):
            continue
        assert (
            main(["--stream", "signs.svm", "--learner", spec.name, "--monitor", "none", "--predictions", "p.csv"]) == 0
        ), spec.name
        rows = list(csv.DictReader(open("p.csv")))
        assert sum(row["truth"] == row["prediction"] for row in rows[30:]) == 30, spec.name


def test_a_sparse_stream_is_learned_from_its_entries(data):
    rng = np.random.default_rng(5)
    lines = []
    for t in range(300):
        columns = np.sort(rng.choice(5000, 10, replace=False))
        lines.append(f"{t % 2} {2 * columns[0] + t % 2 + 1}:1 " + " ".join(f"{20000 + c}:1" for c in columns))
    (data / "text.svm").write_text("\n".join(lines))
    assert main(["--stream", "text.svm", "--save", "text.ok"]) == 0
    model = onlinekit.load("text.ok")
    assert model.n_features > 1500


class Proof(onlinekit.Monitor):
    """A monitor with a model of its own, a tree of one question, that is retrained at every second check."""

    forgets, wants_window = False, True

    def __init__(self, patience=2):
        self.patience, self.n, self.asked = patience, 0, 0

    def model(self):
        return pytest.importorskip("sklearn.tree").DecisionTreeClassifier(max_depth=1)

    def update(self, x, y):
        assert isinstance(y, bool)
        self.n += 1

    def revert(self, x, y):
        raise NotImplementedError

    def verdict(self):
        decision = "retrain" if self.n >= 50 * self.patience else "keep"
        return onlinekit.Verdict(decision, certified=True, n_added=self.n, reason="counted")

    def rebase(self, *args, **kwargs):
        self.n = 0


def test_a_monitor_with_a_model_has_it_retrained_beside_the_learner(data, capsys, monkeypatch):
    from onlinekit import registry

    monkeypatch.setattr(registry, "_registered", {})
    registry.register("monitor", "proof")(Proof)
    (data / "words.csv").write_text(
        "a,label\n" + "".join(f"{i % 7},{'high' if i % 7 > 3 else 'low'}\n" for i in range(600))
    )
    assert main(["--stream", "words.csv", "--monitor", "proof", "--monitor-set", "patience=4"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "retrained by proof" in line)
    accuracy, retrains = line.split()[-3:-1]
    assert float(accuracy) > 0.9 and retrains == "2"
    page = (data / "onlinekit-run" / "report.html").read_text()
    assert page.count('class="mark"') == 2 and "questions to the monitor" in page and 'class="beside1"' in page
    (data / "three.csv").write_text("a,label\n" + "".join(f"{i},{i % 3}\n" for i in range(60)))
    assert main(["--stream", "three.csv", "--monitor", "proof"]) == 2
    assert "two classes, and there are 3 labels" in capsys.readouterr().err


def test_late_labels(data, capsys):
    assert main(["--stream", "data.csv", "--delay", "20"]) == 0
    assert "labels 20 samples late" in (data / "onlinekit-run" / "report.html").read_text()


GOOD = ["--stream", "data.csv"]
PLAIN = [*GOOD, "--learner", "logistic", "--monitor", "adwin"]
MISTAKES = [
    (["--speed", "3"], "unrecognized arguments: --speed"),
    (["--limit", "many"], "invalid int value: 'many'"),
    (["--limit"], "expected one argument"),
    (["--limit", "0"], "limit must be a whole number from 1 on"),
    (["--delay", "-1"], "delay must be a whole number from 0 on"),
    (["--stream", "nowhere.csv"], "nowhere.csv: there is no such file"),
    (["--stream", "."], ".: there is no such file"),
    (["--stream", "empty.csv"], "empty.csv: the file is empty"),
    (["--stream", "header.csv"], "header.csv: there are no rows below the header"),
    (["--stream", "cut.csv"], "cut.csv: line 101 has 2 cells instead of 3"),
    (["--stream", "text.csv"], "text.csv: all 2 rows were skipped: a: missing or not a number"),
    (["--stream", "numbers.csv"], "numbers.csv: the target has 100 different numbers"),
    (["--stream", "data.xyz"], "unknown kind of file"),
    (["--stream", "semicolons.csv"], "semicolons.csv: its header names one column, 'a;b;label'"),
    (["--stream", "bare.svm"], "bare.svm: no sample of it has a feature"),
    (["--stream", "cut.npz"], "cut.npz: no intact .npz file"),
    (["--stream", "csr.npz"], "csr.npz: no valid CSR matrix"),
    (["--stream", "river:Nothing"], "river:Nothing: no such bundled data set"),
    (["--stream", "river:TrumpApproval"], "its task is regression"),
    (["--stream", "data.csv", "--target", "labels"], "there is no column 'labels'; did you mean 'label'?"),
    ([*GOOD, "--learner", "logistics"], "no learner is called 'logistics'; did you mean 'logistic'"),
    ([*GOOD, "--learner", "krr"], "learner 'krr' predicts numbers, and labels are to be predicted"),
    ([*PLAIN, "--set", "speed=3"], "learner 'logistic' has no parameter 'speed'"),
    ([*PLAIN, "--set", "lr"], "--set takes key=value, not 'lr'"),
    ([*PLAIN, "--set", "lr=-1"], "learner 'logistic': lr must be positive"),
    ([*PLAIN, "--set", "lr=fast"], "learner 'logistic': "),
    ([*PLAIN, "--set", "standardize=no"], "standardize must be True or False, not 'no'"),
    ([*PLAIN, "--set", "classes=abc"], "classes must be None or a sequence of labels, not the text 'abc'"),
    ([*GOOD, "--set", "n_components=true"], "n_components must be a whole number of at least 1, not True"),
    ([*GOOD, "--set", "n_components=100000000000"], "allocate"),
    ([*GOOD, "--monitor", "adwim"], "no monitor is called 'adwim'; did you mean 'adwin'"),
    ([*GOOD, "--monitor", "none", "--monitor-set", "speed=3"], "there is no monitor"),
    ([*PLAIN, "--monitor-set", "speed=3"], "monitor 'adwin' has no parameter 'speed'"),
    ([*PLAIN, "--monitor-set", "min_samples=0"], "min_samples"),
    ([*GOOD, "--resume", "nowhere.ok"], "nowhere.ok"),
    ([*GOOD, "--resume", "data.csv"], "is not a model saved by onlinekit"),
    ([*GOOD, "--resume", "monitor.ok"], "monitor.ok: it holds a ADWINMonitor, which is no learner of labels"),
    ([*GOOD, "--resume", "x.ok", "--set", "lr=1"], "leave out learner and set"),
    ([*GOOD, "--save", "no/where/model.ok"], "--save: there is no folder 'no/where'"),
    ([*GOOD, "--save", "."], "--save: '.' is a folder"),
    ([*GOOD, "--predictions", "p.xls"], "must end in .csv or .jsonl"),
    ([*GOOD, "--out", "data.csv"], "data.csv"),
    (["--config", "nowhere.toml"], "nowhere.toml"),
    (["--config", "broken.toml"], "broken.toml: "),
    (["--config", "unknown.toml"], "there is no option 'lerner'; did you mean 'learner'?"),
    (["--config", "kind.toml"], "'limit' cannot be 'many'"),
    (["--config", "truth.toml"], "'limit' cannot be True"),
]


@pytest.mark.parametrize(("options", "named"), MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(options, named, data, capsys):
    (data / "empty.csv").write_text("")
    (data / "header.csv").write_text("a,label\n")
    (data / "cut.csv").write_text("a,b,label\n" + ROWS[:-2].rstrip(","))
    (data / "text.csv").write_text("a,label\nred,1\nblue,0\n")
    (data / "numbers.csv").write_text("a,price\n" + "".join(f"{i},{i + 0.5}\n" for i in range(100)))
    (data / "data.xyz").write_text("1")
    (data / "semicolons.csv").write_text("a;b;label\n1;2;0\n3;4;1\n")
    (data / "bare.svm").write_text("1\n-1\n")
    (data / "cut.npz").write_bytes(b"PK\x03\x04")
    np.savez("csr.npz", y=[1, 0], X_data=[1.0], X_indices=[7], X_indptr=[0, 1, 1], X_shape=[2, 3])
    (data / "broken.toml").write_text("stream = \n")
    (data / "unknown.toml").write_text('lerner = "pa"\n')
    (data / "kind.toml").write_text('limit = "many"\n')
    (data / "truth.toml").write_text("limit = true\n")
    onlinekit.save(onlinekit.create("monitor", "adwin"), "monitor.ok")
    assert main(options) == 2
    told = capsys.readouterr()
    assert told.err.count("\n") == 1 and told.err.startswith("onlinekit run: ")
    assert named in told.err
    assert told.out == ""


def test_two_words_as_labels_and_truths_as_features(data, capsys):
    rows = "".join(f"{'TRUE' if i % 2 else 'False'},{'yes' if i % 2 else 'no'}\n" for i in range(100))
    (data / "words.csv").write_text("a,label\n" + rows)
    for learner in ("pamo", "pa"):
        assert main(["--stream", "words.csv", "--learner", learner, "--monitor", "adwin"]) == 0
        told = table(capsys.readouterr().out)
        assert told["skipped"] == ["0"] and float(told[learner][0]) > 0.9


def test_a_broken_learner_is_one_line_too(data, capsys, monkeypatch):
    from onlinekit import registry

    class Fussy(registry.get("learner", "logistic")):
        def learn_one(self, x, y, w=1.0):
            raise ValueError("feature 'a' is\nnot to my taste")

    monkeypatch.setattr(registry, "_registered", {})
    registry.register("learner", "fussy")(Fussy)
    assert main(["--stream", "data.csv", "--learner", "fussy"]) == 2
    assert capsys.readouterr().err == "onlinekit run: feature 'a' is not to my taste\n"


def test_the_command_exits_with_2_and_no_traceback(data):
    command = [sys.executable, "-m", "onlinekit", "run", "--stream", "cut.csv"]
    (data / "cut.csv").write_text("a,b,label\n" + ROWS + "1,")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr == "onlinekit run: cut.csv: line 102 has 2 cells instead of 3\n"
