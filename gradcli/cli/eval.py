"""``gradcli eval``: records as they come, and the exit code."""

from __future__ import annotations

import sys

from gradcli.cli.exit_codes import BAD_INPUT, FINE, FOUND
from gradcli.cli.job import Job
from gradcli.cli.output import make_writer
from gradcli.cli.request import Request
from gradcli.errors import GradcliError
from gradcli.report.records import Record


def run_eval(request: Request) -> int:
    """Evaluate everything that was asked for and give the exit code."""
    try:
        job = Job(request)
        writer = make_writer(request)
    except GradcliError as error:
        print(error.render(), file=sys.stderr)
        return BAD_INPUT
    code = FINE
    produced = False
    try:
        for record in job.records():
            produced = True
            _save(record, job.targets)
            writer.write(record)
            code = max(code, BAD_INPUT if record.error else FOUND if record.failed else FINE)
            if request.fail_fast and code:
                break
        else:
            code = max(code, say_remarks(job) if job.files else FINE)
    finally:
        writer.close()  # what there is, whatever happened
    if not produced:
        print("error[usage]: nothing to evaluate", file=sys.stderr)
        return BAD_INPUT
    return code


def say_remarks(job: Job) -> int:
    """Print what is known of names when a run is over, and give the exit code that follows."""
    try:
        remarks = job.remarks()
    except GradcliError as error:
        print(error.render(), file=sys.stderr)
        return BAD_INPUT
    for remark in remarks:
        print(f"warning: {remark}", file=sys.stderr)
    return FINE


def _save(record: Record, targets: dict[str, str]) -> None:
    """Write what ``--save`` names to its files, instead of printing it."""
    if not targets or record.error is not None:
        return
    from gradcli.cli.saving import save_arrays

    save_arrays(record, targets)
