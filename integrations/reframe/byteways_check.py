"""byteways as a test of ReFrame: measures a node and judges it.

    reframe -c integrations/reframe -r
    reframe -c integrations/reframe -r -S BytewaysCheck.against=/etc/byteways/ours.json

`byteways` must be in PATH. The test fails if the node cannot be measured, a case is slower than its
reference (exit status 1 of `byteways check`), or the reference cannot be read. It is skipped if there is
nothing to judge by (status 2, and each case has the verdict UNKNOWN). Its performance variables are the
numbers of verdicts.
"""

import json
from collections import Counter
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function, variable

NOTHING_TO_JUDGE_BY = 2  # or bad usage, which prints no verdicts


@rfm.simple_test
class BytewaysCheck(rfm.RunOnlyRegressionTest):
    """Runs a suite on the node and compares each case with what is normal."""

    descr = "Data paths of a node compared with what is normal"
    valid_systems = ["*"]  # noqa: RUF012 - a variable of ReFrame
    valid_prog_environs = ["*"]  # noqa: RUF012
    time_limit = "10m"
    executable = "byteways"
    #: The suite, options of `byteways run`, and what results are compared with (`byteways check --against`).
    suite = variable(str, value="quick")
    run_options = variable(str, value="--budget 45")
    against = variable(str, value="normal")

    @run_before("run")
    def set_command(self):
        """Sets the commands; the exit status of the check is kept for later."""
        self.executable_opts = ["run", self.suite, self.run_options, "--no-report", "--out", "run"]
        check = f"byteways check run --against {self.against} --json"
        self.postrun_cmds = [f"{check} > verdicts.json 2> check.log; echo $? > status"]

    @sanity_function
    def judge(self):
        """Fails if the node could not be measured, or with what the check says of cases that failed."""
        stage = Path(self.stagedir)
        if not (stage / "run" / "run.json").exists():
            said = (stage / sn.evaluate(self.stderr)).read_text().strip()
            return sn.assert_true(False, msg=f"byteways run failed: {said}")
        status = int((stage / "status").read_text())
        log = (stage / "check.log").read_text().strip()
        judged = (stage / "verdicts.json").stat().st_size > 0
        self.skip_if(status == NOTHING_TO_JUDGE_BY and judged, log)
        return sn.assert_eq(status, 0, msg=log or "cases are slower than their reference: verdicts.json")

    @run_before("performance")
    def name_verdicts(self):
        """Reports how many cases have each verdict."""
        cases = json.loads((Path(self.stagedir) / "verdicts.json").read_text())["cases"]
        counts = Counter(case["verdict"].lower().replace(" ", "_") for case in cases)
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(count), "cases") for name, count in counts.items()
        }
