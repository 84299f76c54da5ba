# What type checkers see, and what `__init__.py` loads on first use.
from mercer.stats.changes import ChangePointsResult as ChangePointsResult
from mercer.stats.changes import change_points as change_points
from mercer.stats.independence import HSICResult as HSICResult
from mercer.stats.independence import hsic_test as hsic_test
from mercer.stats.two_samples import MMDResult as MMDResult
from mercer.stats.two_samples import mmd_test as mmd_test
