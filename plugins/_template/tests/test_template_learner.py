"""The whole contract of a learner, one test a check."""

import pytest
from onlinekit.testing import learner_checks

from template_learner import TemplateLearner


@pytest.mark.parametrize("check", [pytest.param(check, id=name) for name, check in learner_checks(TemplateLearner())])
def test_contract(check):
    check()
