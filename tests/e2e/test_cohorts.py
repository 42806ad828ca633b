"""A cohort in a real browser: made, filled, dated and joined, by its instructor and by a learner."""

from datetime import UTC, datetime, timedelta

TODAY = datetime.now(UTC).date()


def test_an_instructor_sets_a_cohort_up_and_a_learner_joins_it_by_its_link(
    theme, width, new_page, sign_in, axe, no_sideways_scroll, complaints
):
    page = new_page(width=width, theme=theme)
    sign_in(page, "instructor")
    page.goto("/cohorts/new/")
    page.get_by_label("Name").fill(f"Spring intake {theme}")
    page.get_by_label("First day").fill((TODAY - timedelta(days=5)).isoformat())
    page.get_by_label("Last day").fill((TODAY + timedelta(days=60)).isoformat())
    page.get_by_role("button", name="Make the cohort").click()

    page.get_by_role("link", name="Assign something").click()
    page.get_by_label("What").select_option("lab:preemption-storm")
    page.get_by_label("Attempts at most").fill("3")
    due = (TODAY + timedelta(days=9)).isoformat()
    page.get_by_label("Due").fill(f"{due}T09:00")
    page.get_by_label("Late work until").fill(f"{due}T18:00")
    axe(page)
    no_sideways_scroll(page)
    page.get_by_role("button", name="Assign it").click()

    page.get_by_role("link", name="Take in a roster").click()
    page.get_by_label("People, one a row").fill(
        "email,labels\nnew.to.it@example.org,pilot\nnobody,pilot"
    )
    page.get_by_role("button", name="Show what would happen").click()
    page.get_by_text("“nobody” is no e-mail address.").wait_for()
    axe(page)
    no_sideways_scroll(page)
    page.get_by_role("button", name="Enrol: 1 row").click()
    page.get_by_text("1 joined, 1 left out.").wait_for()

    page.get_by_role("link", name=f"Spring intake {theme}").click()
    page.get_by_role("link", name="new.to.it@example.org").wait_for()
    link = page.get_by_label("The link that leads there").input_value()
    axe(page)
    no_sideways_scroll(page)

    learner = new_page(width=width, theme=theme, scripts=False)
    sign_in(learner)
    learner.goto(link)
    learner.get_by_role("button", name="Join").click()
    learner.get_by_text("3 attempts left").wait_for()
    learner.goto("/")
    learner.get_by_role("link", name=f"Spring intake {theme}").wait_for()
    seen = new_page(width=width, theme=theme)
    seen.context.add_cookies(learner.context.cookies())
    seen.goto("/cohorts/")
    seen.get_by_role("link", name=f"Spring intake {theme}").click()
    seen.get_by_text("0 of 1 done.").wait_for()
    axe(seen)
    no_sideways_scroll(seen)
    assert complaints == []
