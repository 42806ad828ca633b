import ast
from itertools import pairwise
from pathlib import Path

import labs.marking

ROOM = Path(labs.marking.__file__).parent


def imports():
    """Every module of the room with the modules that it imports."""
    for path in sorted(ROOM.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                yield path.stem, node.module
            elif isinstance(node, ast.Import):
                yield from ((path.stem, name.name) for name in node.names)


def test_predictions_and_agreement_never_enter_a_mark():
    shown_only = {"labs.marking.predictions", "labs.marking.agreement", "labs.marking.shown"}
    assert not [pair for pair in imports() if pair[1] in shown_only]


def test_the_room_is_pure():
    roots = {module.split(".")[0] for _, module in imports() if module}
    assert roots.isdisjoint({"django", "celery", "courseware", "lessons", "random", "time"})
    assert {module for _, module in imports() if module.startswith("labs.")} <= {
        f"labs.marking.{path.stem}" for path in ROOM.glob("*.py")
    }


def test_numpy_stays_with_the_estimator():
    assert {name for name, module in imports() if module.startswith("numpy")} == {
        "information",
        "kernels",
    }


def test_every_bold_constant_stands_with_its_meaning():
    tree = ast.parse((ROOM / "constants.py").read_text()).body
    for node, after in pairwise(tree):
        if isinstance(node, ast.AnnAssign):
            assert isinstance(after, ast.Expr), ast.unparse(node.target)
