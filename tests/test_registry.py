"""Names, collisions and broken plugins."""

import sys

import pytest
from river import base

from onlinekit import registry
from onlinekit.registry import PluginError


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a fake distribution: install(name, {"entry": "module:Class"}, kind)."""
    monkeypatch.setattr(registry, "_registered", {})

    def add(distribution, points, folder="site", kind="learners", version="1.0"):
        site = tmp_path / folder
        info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        lines = "\n".join(f"{name} = {target}" for name, target in points.items())
        (info / "entry_points.txt").write_text(f"[onlinekit.{kind}]\n{lines}\n")
        monkeypatch.syspath_prepend(str(site))
        return site

    return add


SOURCE = """
from river import base
class Good(base.Classifier):
    def learn_one(self, x, y): pass
    def predict_proba_one(self, x): return {}
class Other(Good): pass
class Stars(Good):
    def __init__(self, **kwargs): pass
class Newer(Good):
    ONLINEKIT_API = 99
class Foreign: pass
"""


def test_specs_import_nothing_and_get_loads(install):
    site = install("fake-a", {"good-one": "fake_mod_a:Good"})
    (site / "fake_mod_a.py").write_text(SOURCE)
    spec = next(s for s in registry.specs("learner") if s.name == "good-one")
    assert (spec.target, spec.distribution, spec.version) == ("fake_mod_a:Good", "fake-a", "1.0")
    assert "fake_mod_a" not in sys.modules
    cls = registry.get("learner", "good-one")
    assert cls.__name__ == "Good" and registry.name_of(cls) == "good-one"
    assert isinstance(registry.create("learner", "good-one"), cls)


def test_typo_names_the_likely_plugin(install):
    install("fake-b", {"id-zdm": "nowhere:X"})
    with pytest.raises(PluginError, match="did you mean 'id-zdm'.*installed: .*id-zdm"):
        registry.get("learner", "id-zdn")
    with pytest.raises(PluginError, match="no kind of plugin"):
        registry.specs("learners")


def test_a_folder_left_of_an_earlier_installation_is_named(install):
    site = install("fake-left", {"left": "fake_left:Good"})
    (site / "fake_left" / "__pycache__").mkdir(parents=True)  # what `pip uninstall` leaves of Numba's cache
    with pytest.raises(PluginError, match="fake_left is left of an earlier installation and hides it"):
        registry.get("learner", "left")


def test_broken_plugin_is_named_in_full(install):
    install("fake-c", {"cracked": "no_such_module_c:X"})
    with pytest.raises(PluginError) as caught:
        registry.get("learner", "cracked")
    for part in ("learner", "cracked", "fake-c", "1.0", "no_such_module_c:X", "ModuleNotFoundError"):
        assert part in str(caught.value)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize(
    "target, cause",
    [("Stars", "kwargs"), ("Newer", "API 99"), ("Foreign", "river.base"), ("Absent", "AttributeError")],
)
def test_contract_is_checked_on_load(install, target, cause):
    site = install("fake-d", {"odd": f"fake_mod_d:{target}"})
    (site / "fake_mod_d.py").write_text(SOURCE)
    with pytest.raises(PluginError, match=cause):
        registry.get("learner", "odd")


def test_collision_fails_only_for_that_name_and_has_an_escape(install):
    site = install("fake-e", {"twin": "fake_mod_e:Good", "single": "fake_mod_e:Good"})
    install("fake-f", {"twin": "fake_mod_e:Other"})
    (site / "fake_mod_e.py").write_text(SOURCE)
    with pytest.raises(PluginError, match="(?=.*fake-e:twin)(?=.*fake-f:twin)"):
        registry.get("learner", "twin")
    assert registry.get("learner", "fake-f:twin").__name__ == "Other"
    assert registry.get("learner", "fake_e:twin").__name__ == "Good"
    assert registry.get("learner", "single").__name__ == "Good"


def test_identical_duplicates_are_one(install):
    install("fake-g", {"double": "fake_mod_g:Good"}, folder="one")
    install("fake-g", {"double": "fake_mod_g:Good"}, folder="two")
    assert [s.name for s in registry.specs("learner")].count("double") == 1


def test_register_in_process(install):
    class Mine(base.Classifier):
        def learn_one(self, x, y):
            pass

    assert registry.register("learner", "mine")(Mine) is Mine
    assert registry.get("learner", "mine") is Mine
    with pytest.raises(PluginError, match="replace=True"):
        registry.register("learner", "mine")(Mine)
    registry.register("learner", "mine", replace=True)(Mine)
    with pytest.raises(PluginError, match="no plugin name"):
        registry.register("learner", "Mine_Own")
