"""A demonstration in a real browser: turned from the keyboard, refused, and read on a phone."""

import pytest
from playwright.sync_api import expect

from lessons import content

LESSON = content.lessons()["measuring-honestly"]
BASE = f"/lessons/{LESSON.slug}/"


def test_a_control_is_turned_by_keyboard_and_what_is_wrong_with_it_is_said_beside_it(
    new_page, axe, no_sideways_scroll, complaints
):
    page = new_page(theme="light", width=1280)
    page.goto(BASE + "open-and-closed/")
    demo = page.locator("#demo-open-and-closed")
    result, clients = (
        demo.locator(".asked"),
        demo.get_by_role("textbox", name="Clients of the tool"),
    )
    slider = demo.get_by_role("slider", name="Clients of the tool")
    expect(result).to_contain_text("reports 800 ms")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(result).to_contain_text("reports 900 ms")
    expect(clients).to_have_value("9")
    expect(slider).to_be_focused()
    expect(demo.locator(".plot svg").first).to_be_visible()

    clients.fill("900")
    expect(demo.get_by_text("write a whole number from 1 to 64")).to_be_visible()
    expect(clients).to_have_attribute("aria-invalid", "true")
    expect(clients).to_be_focused()
    expect(result).to_contain_text("reports 900 ms")
    axe(page)
    # The browser notes that a request was refused.
    complaints.clear()

    clients.fill("20")
    expect(result).to_contain_text("reports 2.00 s")
    expect(clients).not_to_have_attribute("aria-invalid", "true")
    expect(slider).to_have_value("20")
    demo.get_by_role("button", name="Start values").click()
    expect(result).to_contain_text("reports 800 ms")
    axe(page)
    no_sideways_scroll(page)
    assert complaints == []


# Words of a chart that are cut at its edge, or that lie on other words.
CROWDED = """() => [...document.querySelectorAll(".plot")].flatMap((plot) => {
  const edge = plot.getBoundingClientRect();
  const words = [...plot.querySelectorAll("svg text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  const shown = words.filter(([text, box]) => text.trim() && box.width);
  const lies = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  return shown.flatMap(([text, box], at) => [
    ...(box.left < edge.left - 1 || box.right > edge.right + 1 ? [`${text}: cut`] : []),
    ...shown.slice(at + 1).filter(([, other]) => lies(box, other)).map(([other]) => `${text} on ${other}`),
  ]);
})"""


@pytest.mark.parametrize("station", [station.slug for station in LESSON.stations])
def test_every_station_is_sound_on_a_phone_in_the_dark(
    new_page, axe, no_sideways_scroll, complaints, station
):
    page = new_page(theme="dark", width=320)
    page.goto(BASE + station + "/")
    expect(page.locator(".demo .plot svg").first).to_be_visible()
    assert page.evaluate(CROWDED) == []
    axe(page)
    no_sideways_scroll(page)
    assert complaints == []
