"""The site's own pages in a real browser."""

import pytest

PAGES = ["/", "/account/login/", "/account/signup/", "/account/password/reset/"]
SIGNED_IN = ["/", "/account/", "/account/email/", "/account/logout/"]


@pytest.mark.parametrize("path", PAGES)
def test_a_visitors_page_is_clean_in_every_theme_and_width(
    path, theme, width, new_page, axe, no_sideways_scroll, complaints
):
    page = new_page(width=width, theme=theme)
    page.goto(path)
    axe(page)
    no_sideways_scroll(page)
    assert complaints == []


def test_each_role_has_clean_pages(theme, width, new_page, axe, sign_in, no_sideways_scroll):
    page = new_page(width=width, theme=theme)
    for role in ("learner", "grader"):
        sign_in(page, role)
        for path in SIGNED_IN:
            page.goto(path)
            axe(page)
            no_sideways_scroll(page)


def test_an_unknown_address_gets_our_page_and_a_way_on(
    theme, new_page, axe, complaints, no_sideways_scroll
):
    page = new_page(width=320, theme=theme)
    assert page.goto("/no/such/page/").status == 404
    assert page.get_by_role("heading", level=1).inner_text() == "There is no such page"
    axe(page)
    no_sideways_scroll(page)
    complaints.clear()  # the browser notes the 404 itself
    page.get_by_role("link", name="Go to the start page").click()
    page.wait_for_url("**/")


def test_the_first_tab_stop_skips_to_the_page(page, focus_is_visible):
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    focus_is_visible(page)
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_every_tab_stop_shows_its_focus(page, focus_is_visible):
    page.goto("/account/login/")
    page.locator("body").focus()
    for _ in range(8):
        page.keyboard.press("Tab")
        focus_is_visible(page)


def test_one_can_sign_up_and_out_and_in_by_keyboard_alone(page):
    page.goto("/account/signup/")
    page.get_by_label("Your name").focus()
    for word in ("Ada Byron", "ada@example.org", "a-long-enough-secret"):
        page.keyboard.type(word)
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("a.me")
    page.goto("/account/")
    page.get_by_role("button", name="Sign out").press("Enter")
    page.get_by_role("link", name="Sign in").press("Enter")
    page.get_by_label("E-mail address").fill("ada@example.org")
    page.get_by_label("Password").fill("a-long-enough-secret")
    page.keyboard.press("Enter")
    page.wait_for_selector("a.me")


def test_the_theme_changes_at_once_and_stays(page):
    page.goto("/account/login/")
    page.wait_for_load_state()  # The button is a plain form until its script is there.
    # A function that is polled in the page would be evaluated there, which the CSP forbids.
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.get_by_role("button", name="Theme: as the system").click()
    page.locator("html[data-theme=light]").wait_for(state="attached")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.url.endswith("/account/login/")


def test_the_theme_changes_without_javascript(new_page):
    page = new_page(scripts=False)
    page.goto("/account/login/")
    page.get_by_role("button", name="Theme").click()
    assert page.locator("html").get_attribute("data-theme") == "light"
    assert page.url.endswith("/account/login/")


def test_a_link_signs_in_once(live_site, new_page):
    link = live_site.manage("sign_in_link", "grader")
    assert "Goran" in new_page(scripts=False).goto(link).text()
    again = new_page(scripts=False).goto(link)
    assert again.status == 410
    assert "works once" in again.text()


def test_plotly_draws_under_the_policy_of_every_page(live_site, page):
    page.goto("/")
    page.evaluate(
        """async () => {
            const add = (name, attributes) => new Promise((done, fail) => {
                const element = Object.assign(document.createElement(name), attributes);
                element.addEventListener("load", done);
                element.addEventListener("error", fail);
                document.head.append(element);
            });
            await add("link", {rel: "stylesheet", href: "/static/vendor/plotly-4.1.1.css",
                               id: "plotly.js-style-global", className: "no-inline-styles"});
            const figure = {data: [{type: "scatter", mode: "lines", x: [0, 1, 2], y: [1, 3, 2],
                                    line: {color: "--c1"}}], layout: {xaxis: {title: {text: "min"}}}};
            document.querySelector("main").insertAdjacentHTML("beforeend",
                '<div class="plot" data-plot="f" role="img" aria-label="a line"></div>'
                + `<script type="application/json" id="f">${JSON.stringify(figure)}</script>`);
            await add("script", {src: "/static/vendor/plotly-basic-4.1.1.min.js"});
            await add("script", {src: "/static/js/charts.js", type: "module"});
        }"""
    )
    line = page.locator("[data-plot] path.js-line")
    line.wait_for()
    colour = line.evaluate("(path) => getComputedStyle(path).stroke")
    page.get_by_role("button", name="Theme").click()  # light
    page.get_by_role("button", name="Theme").click()  # dark
    page.wait_for_function(
        "(before) => getComputedStyle(document.querySelector('[data-plot] path.js-line')).stroke !== before",
        arg=colour,
    )


def test_a_task_goes_from_beat_through_the_broker_to_a_worker(live_site, page):
    for _ in range(100):
        answer = page.request.get("/healthz").json()
        if answer["worker_pulse_age_s"] is not None:
            break
        page.wait_for_timeout(300)
    assert answer["worker_pulse_age_s"] < 60, (live_site.log("worker"), live_site.log("beat"))
