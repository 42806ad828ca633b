from lessons import content, front_matter
from lessons.checks import lessons_can_be_shown


def test_the_course_as_it_stands_can_be_shown():
    assert lessons_can_be_shown(None) == []


def test_a_broken_lesson_stops_the_check_with_its_file_and_line(monkeypatch):
    def broken():
        raise front_matter.ContentError("01-one.md:7: no figure is called 'x'")

    broken.cache_clear = lambda: None
    monkeypatch.setattr(content, "course", broken)
    (error,) = lessons_can_be_shown(None)
    assert (error.id, error.msg) == ("lessons.E001", "01-one.md:7: no figure is called 'x'")
