"""`onlinekit run` from its options to its report, and one clear line for everything that is wrong."""

import pytest

from onlinekit.run import main


def test_the_default_job_writes_a_report(tmp_path, capsys):
    assert main(["--out", str(tmp_path), "--limit", "300"]) == 0
    assert "Accuracy" in capsys.readouterr().out
    assert "<svg" in (tmp_path / "report.html").read_text()


def test_save_then_resume(tmp_path, capsys):
    model = tmp_path / "model.ok"
    assert main(["--out", str(tmp_path), "--limit", "200", "--save", str(model)]) == 0
    assert main(["--out", str(tmp_path), "--limit", "200", "--resume", str(model)]) == 0
    assert "LogisticRegression" in capsys.readouterr().out


def test_a_csv_and_a_config_file(tmp_path, capsys):
    rows = "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(100))
    (tmp_path / "data.csv").write_text("a,b,label\n" + rows + "x,1,1\n")
    config = tmp_path / "run.toml"
    stream, out = (tmp_path / "data.csv").as_posix(), tmp_path.as_posix()
    config.write_text(f'stream = "{stream}"\ntarget = "label"\nlearner = "pa"\nout = "{out}"\n[set]\nC = 0.5\n')
    assert main(["--config", str(config)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split() == ["samples", "100"] for line in lines)
    assert any(line.split() == ["skipped", "rows", "1"] for line in lines)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--stream", "nowhere.csv"], "nowhere.csv"),
        (["--stream", "river:Nothing"], "Nothing"),
        (["--learner", "logistics"], "logistic"),
        (["--set", "speed=3"], "speed"),
        (["--set", "lr"], "key=value"),
        (["--monitor", "adwim"], "adwin"),
        (["--limit", "0"], "limit"),
        (["--resume", "nowhere.ok"], "nowhere.ok"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(options, named, tmp_path, capsys):
    assert main(["--out", str(tmp_path), *options]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert named in error
