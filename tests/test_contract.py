"""Every registered learner and monitor keeps the contract of onlinekit.testing."""

import pytest

import onlinekit
from onlinekit.testing import learner_checks, monitor_checks


def _cases(kind, checks):
    cases = []
    for spec in onlinekit.specs(kind):
        for name, check in checks(onlinekit.create(kind, spec.name)):
            cases.append(pytest.param(check, id=f"{spec.name}-{name}"))
    return cases


@pytest.mark.parametrize("check", _cases("learner", learner_checks))
def test_learner(check):
    check()


@pytest.mark.parametrize("check", _cases("monitor", monitor_checks))
def test_monitor(check):
    check()
