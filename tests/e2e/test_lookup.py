"""Looking things up in a real browser: symptoms, glossary, search."""

PAGES = ["/symptoms/", "/symptoms/1.1/", "/glossary/", "/search/?q=kv"]


def test_what_one_looks_up_is_clean(theme, width, new_page, axe, no_sideways_scroll, complaints):
    page = new_page(width=width, theme=theme)
    for path in PAGES:
        page.goto(path)
        axe(page)
        no_sideways_scroll(page)
    assert complaints == []


def test_a_search_answers_while_one_types_and_its_answer_leads_there(page, axe):
    page.goto("/symptoms/")
    page.locator("#q").press_sequentially("preemp")
    hit = page.locator("#found a", has_text="preemption").last
    hit.wait_for()
    axe(page)
    hit.click()
    page.wait_for_url("**/glossary/#preemption")
    assert page.locator("#preemption").is_visible()


def test_a_search_works_without_scripts(new_page):
    page = new_page(scripts=False)
    page.goto("/glossary/")
    page.locator("#q").fill("kv pool")
    page.get_by_role("button", name="Search").click()
    assert "found for “kv pool”" in page.locator("#found").inner_text()


def test_a_drill_goes_from_the_first_measurement_to_the_debrief(
    theme, width, new_page, sign_in, axe, no_sideways_scroll, complaints
):
    page = new_page(width=width, theme=theme)
    sign_in(page)
    page.goto("/drills/1.1/")

    def decide(button: str) -> None:
        axe(page)
        no_sideways_scroll(page)
        page.get_by_role("button", name=button).click()

    decide("Begin")
    page.get_by_label("Prefix-cache counters").check()
    page.locator("input[name=confidence][value='90']").check(force=True)
    page.locator("#why").fill("It reads otherwise in every world.")
    decide("Commit and read")
    page.get_by_label("A caller sends longer prompts since the same day").check()
    decide("Strike them out")
    page.locator("input[name=mechanism]").first.check()
    decide("That happens")
    page.locator("input[name=fix]").first.check()
    decide("Do it, and measure again")
    assert "The world was:" in page.locator("#now").inner_text()
    axe(page)
    no_sideways_scroll(page)
    assert complaints == []
