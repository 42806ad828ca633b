from lessons import content, front_matter
from lessons.checks import lessons_can_be_shown, text_faults


def test_the_course_as_it_stands_can_be_shown():
    assert lessons_can_be_shown(None) == []


def test_a_broken_lesson_stops_the_check_with_its_file_and_line(monkeypatch):
    def broken():
        raise front_matter.ContentError("01-one.md:7: no figure is called 'x'")

    broken.cache_clear = lambda: None
    monkeypatch.setattr(content, "course", broken)
    (error,) = lessons_can_be_shown(None)
    assert (error.id, error.msg) == ("lessons.E001", "01-one.md:7: no figure is called 'x'")


def test_a_drills_text_with_an_unknown_keyword_stops_the_check_with_its_file_and_line(tmp_path):
    (tmp_path / "scene.md").write_text("The alarm rings.\n")
    (tmp_path / "debrief.md").write_text("One.\n\nThe [[prefix cachet]] is hit.\n")
    (error,) = text_faults(tmp_path)
    assert error.id == "lessons.E003"
    assert error.msg.endswith(
        "debrief.md:3: no keyword is called 'prefix cachet'; did you mean 'prefix cache'? "
        "Write it into lessons/content/glossary.toml"
    )
