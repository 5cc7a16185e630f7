"""The whole contract of a learner, one test a check."""

import pytest
from template_learner import TemplateLearner

from onlinekit.testing import learner_checks


@pytest.mark.parametrize("check", [pytest.param(check, id=name) for name, check in learner_checks(TemplateLearner())])
def test_contract(check):
    check()
