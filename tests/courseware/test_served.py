"""Which tree is read, and what is remembered of it."""

import threading
from pathlib import Path

from courseware import served
from courseware.served import CHECKOUT, Tree, remembered, serve, tree, trying


def other(name="other"):
    return Tree(labs=Path(name), lessons=Path(name))


def test_a_reader_remembers_for_one_tree_and_reads_the_next_one_anew():
    read = []

    @remembered
    def words(name, *, loud=False):
        read.append((tree().labs, name))
        return f"{name} of {tree().labs.name}"

    assert [words("a"), words("a"), words("b"), words("a", loud=True)] == [
        "a of content", "a of content", "b of content", "a of content",
    ]  # fmt: skip
    assert len(read) == 3
    with trying(other()):
        assert words("a") == "a of other"
    assert words("a") == "a of content"
    assert len(read) == 4


def test_what_a_reader_raises_is_not_remembered():
    answers = iter([ValueError("broken"), None])

    @remembered
    def fails_once():
        if (found := next(answers)) is not None:
            raise found
        return "read"

    try:
        fails_once()
    except ValueError:
        assert fails_once() == "read"


def test_a_tree_that_is_tried_is_read_by_one_thread_only():
    seen = []
    with trying(other()):
        thread = threading.Thread(target=lambda: seen.append(tree()))
        thread.start()
        thread.join()
        assert tree().labs.name == "other"
    assert seen == [CHECKOUT]
    assert tree() is CHECKOUT


def test_a_process_forgets_what_it_read_of_the_tree_before():
    @remembered
    def where():
        return tree().labs

    assert where() == CHECKOUT.labs
    new = other("new")
    serve(new)
    assert where() == Path("new")
    assert new.memory[where] == {(): Path("new")}
    served.serve(CHECKOUT)
    assert where() == CHECKOUT.labs
