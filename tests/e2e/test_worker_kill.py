"""A worker is killed in the middle of marking: the action is taken up again, once, and nobody can tell."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import asdict

from labs import plays, pool, worlds
from labs.catalogue import labs
from labs.judgement import judge
from labs.log import Entry
from labs.reruns import rerun
from tests.e2e.conftest import ROOT

SLUG = "preemption-storm"
LIMIT_S = 90
START = f"""
from courseware.models import User
from labs import attempts
from labs.catalogue import labs
learner = User.objects.create(email="killed@example.org", name="K", role="learner")
attempt = attempts.start_attempt(learner=learner, spec=labs()["{SLUG}"])
print(attempt.pk)
"""
TYPE = """
from labs import attempts
from labs.models import Attempt
print(attempts.command(Attempt.objects.get(pk={attempt}), "{line}").pk)
"""
FINISH = """
from labs import attempts
from labs.models import Attempt
print(attempts.finish(Attempt.objects.get(pk={attempt})).pk)
"""
RESULT = """
import json
from labs.marks import log_of
from labs.models import Action, Attempt, Outbox, Review
attempt = Attempt.objects.get(pk={attempt})
last = attempt.actions.get(kind="finish")
log = [[e.kind, e.payload, e.outcome, e.at_s, e.cost_s] for e in log_of(attempt, before_seq=last.seq)]
sent = Outbox.objects.filter(object_id=last.pk).count()
print(json.dumps([attempt.seed, attempt.status, attempt.mark, last.status, last.tries, sent, log]))
"""


def shell(site, program, **names):
    """Run a few lines in the live site's shell and return what they printed last."""
    told = site.manage("shell", "-v", "0", "-c", program.format(**names) if names else program)
    return json.loads(told.splitlines()[-1])


def last_action(site, attempt):
    """The attempt's last action, read from the database file as it stands: nothing is quicker."""
    path = f"file:{site.folder / 'site.sqlite3'}?mode=ro"
    with closing(sqlite3.connect(path, uri=True, timeout=10)) as database:
        row = database.execute(
            "select id, status, tries from labs_action where attempt_id = ? order by seq desc",
            [attempt],
        ).fetchone()
    return dict(zip(("pk", "status", "tries"), row, strict=True))


def wait_until(site, attempt, *wanted):
    """Look at the last action until its status is as wanted, and return it."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        action = last_action(site, attempt)
        if action["status"] in wanted:
            return action
        time.sleep(0.005)
    raise AssertionError(f"still {action}; the worker said:\n{site.log('worker')[-3000:]}")


def pool_processes(site):
    """The processes that perform actions: children of the Celery worker that the launcher started."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,command="], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    rows = [line.split(None, 2) for line in listed]
    parents = {
        pid
        for pid, ppid, command in rows
        if int(ppid) == site.process.pid and " worker" in command and "celery" in command
    }
    return [int(pid) for pid, ppid, _ in rows if ppid in parents]


def test_a_worker_killed_halfway_is_taken_up_again_once_and_the_mark_is_the_same(live_site):
    attempt = shell(live_site, START)
    wait_until(live_site, attempt, "done")
    for line in ("request-log --last 12m --summary", "restart --kv-cache-dtype fp8", "wait 20m"):
        shell(live_site, TYPE, attempt=attempt, line=line)
        wait_until(live_site, attempt, "done")

    # Frozen as soon as one has taken the marking, so that it is halfway however fast the machine is.
    workers = pool_processes(live_site)
    assert len(workers) == 2
    with subprocess.Popen(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", FINISH.format(attempt=attempt)],
        cwd=ROOT,
        env=live_site.environment,
        stdout=subprocess.DEVNULL,
    ):
        wait_until(live_site, attempt, "running")
        for process in workers:
            os.kill(process, signal.SIGSTOP)
    assert last_action(live_site, attempt)["status"] == "running"
    for process in workers:
        os.kill(process, signal.SIGKILL)

    wait_until(live_site, attempt, "done", "failed")
    seed, status, mark, last, tries, sent, log = shell(live_site, RESULT, attempt=attempt)
    assert (status, last, tries, sent) == ("marked", "done", 2, 2)
    assert not set(pool_processes(live_site)) & set(workers)

    spec = labs()[SLUG]
    entries = [Entry(*entry) for entry in log]
    route = plays.reference_route(spec, seed)
    undisturbed = judge(
        spec,
        seed,
        entries,
        table=pool.table(SLUG),
        reference=route,
        runs=rerun(spec, worlds.hypothesis_of(spec, seed), seed, entries, reference=route),
    )
    assert mark == json.loads(json.dumps(asdict(undisturbed)))
