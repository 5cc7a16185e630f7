"""The command: exit codes, output and what it must not import."""

import json
import subprocess
import sys

import pytest
from test_registry import install  # noqa: F401

import onlinekit
from onlinekit import cli, registry


def test_list_is_light():
    code = (
        "import sys, time; from onlinekit.cli import main; code = main(['list'])\n"
        "assert code == 0 and not {'numba', 'river', 'onlinekit_plugins'} & set(sys.modules)\n"
        "assert time.process_time() < 0.3, time.process_time()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_closed_pipe_prints_no_traceback():
    command = f"{sys.executable} -m onlinekit list --json | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.stderr == "" and done.stdout == "[\n"


def test_broken_is_listed_and_check_exits_1(install, capsys):  # noqa: F811
    site = install("fake-h", {"gone": "no_such_module_h:X", "raising": "fake_mod_h:X"})
    (site / "fake_mod_h.py").write_text("raise ImportError('no luck')\n")
    assert cli.main(["list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["gone"]["status"] == rows["raising"]["status"] == "broken"
    assert cli.main(["check", "gone"]) == 1
    assert "fake-h 1.0" in capsys.readouterr().err
    assert cli.main(["info", "gonne"]) == 1
    assert "did you mean 'gone'" in capsys.readouterr().err


def test_kind_filters(install, capsys):  # noqa: F811
    install("fake-i", {"watch": "no_such_module_i:X"}, kind="monitors")
    assert cli.main(["list", "--kind", "monitor", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert "watch" in {row["name"] for row in rows} and {row["kind"] for row in rows} == {"monitor"}


def test_info_shows_parameters(capsys):
    assert cli.main(["info", registry.specs("learner")[0].name]) == 0
    assert "Parameters and defaults" in capsys.readouterr().out


def test_an_unknown_name_is_told_with_all_names(capsys):
    assert cli.main(["info", "nothing-like-it"]) == 1
    told = capsys.readouterr().err
    assert "no learner is called" in told and "no monitor is called" in told


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0 and capsys.readouterr().out == f"onlinekit {onlinekit.__version__}\n"


def test_new_replaces_every_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", "fresh-idea"]) == 0
    files = [path for path in (tmp_path / "fresh-idea").rglob("*") if path.is_file()]
    assert (tmp_path / "fresh-idea/fresh_idea/kernels.py") in files
    for path in files:
        assert "template" not in path.read_text().lower() + path.name
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fresh-idea"]
    assert cli.main(["new", "fresh-idea"]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Bad_Name", "../up", "class", "json", "a--b"])
def test_new_refuses_bad_names(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", name]) == 2
    assert not list(tmp_path.iterdir()) and name in capsys.readouterr().err
