"""What the pages of symptoms say, for tests that compute it anew."""

from lessons.symptoms import symptoms


def holds(number, *texts):
    """Assert that the page of a symptom says each of ``texts``, which a test has computed."""
    page = symptoms()[number]
    whole = " ".join(f"{page.symptom} {page.first} {page.text}".split())
    missing = [text for text in texts if " ".join(str(text).split()) not in whole]
    assert missing == [], f"{number} says something else than {missing}"


def row(name, *values):
    """Return a row of a table as a page writes it."""
    return "| " + " | ".join([str(value) for value in (name, *values)]) + " |"
