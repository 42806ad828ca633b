"""The lease of a live attempt on its page, moved by whoever holds it: here by this test."""

import pytest

MAKE = """
from courseware.models import User
from labs import leases
from labs.models import Action, Attempt
learner = User.objects.get(email="{email}")
attempt = Attempt.objects.create(
    learner=learner, lab_slug="preemption-storm", lab_version=1, seed=1, number=1, backend="live"
)
Action.objects.create(attempt=attempt, seq=0, kind="begin")
leases.ask(attempt)
print(attempt.public_id)
"""
START = """
from labs import leases
lease = leases.claim_next("box-of-a-test")
leases.beat(lease, doing="Loading the weights", progress=0.4)
"""
RUN = """
from labs import leases
from labs.models import Lease
lease = Lease.objects.get(box="box-of-a-test", status="starting")
leases.ready(lease)
"""
BEGUN = """
from django.utils import timezone
from labs.models import Lease
lease = Lease.objects.get(box="box-of-a-test", status="running")
lease.attempt.actions.update(status="done", done_at=timezone.now())
"""
END = """
from labs import leases
from labs.models import Lease
lease = Lease.objects.get(box="box-of-a-test", status="running")
leases.end(lease, leases.over(lease, lease.heartbeat_at))
"""


@pytest.fixture
def shell(live_site):
    def run(program, **names):
        return live_site.manage(
            "shell", "-v", "0", "-c", program.format(**names) if names else program
        )

    return run


def heading(page, words):
    page.get_by_role("heading", name=words).wait_for()


def test_a_lease_moves_on_its_page_by_itself(
    new_page, sign_in, shell, axe, no_sideways_scroll, complaints
):
    page = new_page(width=320, theme="dark")
    attempt = shell(MAKE, email=sign_in(page)).splitlines()[-1]
    page.goto(f"/labs/attempts/{attempt}/")
    heading(page, "You wait for an engine")
    page.get_by_role("button", name="Leave the queue").wait_for()
    axe(page)
    no_sideways_scroll(page)

    shell(START)
    heading(page, "Your engine starts")
    page.locator("#lease progress[value='0.400']").wait_for()

    shell(RUN)
    heading(page, "A real engine runs for you")
    # Nothing rings for this one: the card that looks again finds it.
    shell(BEGUN)
    heading(page, "p95 TTFT")
    page.get_by_role("button", name="15 min more").click()
    page.get_by_text("1 left").wait_for()
    axe(page)
    no_sideways_scroll(page)

    page.get_by_role("button", name="Stop the engine").click()
    heading(page, "Stopping the engine")
    shell(END)
    page.get_by_text(
        "You stopped the engine. The attempt and all its readings are kept."
    ).wait_for()
    axe(page)
    assert complaints == []
