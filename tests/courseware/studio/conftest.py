"""A small course in a folder of its own, whose only fault is a file that says so."""

import pytest

from courseware.served import Tree
from courseware.studio import publishing, syncing
from courseware.studio.checking import Fault
from courseware.studio.pieces import files_at, pieces_in

PIECES = {
    "labs/one": {"lab.toml": "a = 1", "brief.md": "Brief."},
    "labs/two": {"lab.toml": "a = 2"},
    "lessons/glossary.toml": {"glossary.toml": "[KV]"},
    "lessons/symptoms/1.1.md": {"1.1.md": "Slow."},
}


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.RUN_DIR = tmp_path / "run"


@pytest.fixture
def files(tmp_path):
    """The files of a checkout."""
    tree = Tree(labs=tmp_path / "labs", lessons=tmp_path / "lessons")
    for path, held in PIECES.items():
        folder = tmp_path / path
        folder = folder.parent if path.endswith((".md", ".toml")) else folder
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in held.items():
            (folder / name).write_text(text)
    return tree


@pytest.fixture
def checked(monkeypatch):
    """Whatever holds the word “broken” may not be served, and “needs two” only beside labs/two."""
    asked = []

    def faults_in(tree, changed, *, proved_today=True):
        asked.append((sorted(changed), proved_today))
        here = pieces_in(tree)
        found = []
        for path, place in here.items():
            text = b"".join(files_at(place).values())
            if b"broken" in text:
                found.append(Fault(path, f"{path}: says broken"))
            if b"needs two" in text and "labs/two" not in here:
                found.append(Fault(path, f"{path}: there is no labs/two"))
        return found

    for module in (publishing, syncing):
        monkeypatch.setattr(module, "faults_in", faults_in)
    return asked
