"""A drill's file: refused with file and key, never shown half."""

import re

import pytest

from labs.specs import SpecError
from lessons.drills.spec import drills, load_drill


@pytest.fixture
def written(tmp_path):
    """A function that changes drill 1.1's file and reads it."""
    from courseware.served import CHECKOUT

    text = (CHECKOUT.lessons / "drills" / "1.1" / "drill.toml").read_text(encoding="utf-8")

    def write(old, new):
        assert old in text
        folder = tmp_path / "1.1"
        folder.mkdir(exist_ok=True)
        (folder / "drill.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
        return load_drill(folder)

    return write


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'signals = ["hit_share"]',
            'signals = ["hits"]',
            "measurements.counters.signals names 'hits'",
        ),
        (
            'mechanism = "prefix_lost"',
            'mechanism = "lost"',
            "suspects.template.mechanism names 'lost'",
        ),
        ('fix = "reorder"', 'fix = "order"', "suspects.template.fix names 'order'"),
        ("healthy = true\n", "", "one must be healthy = true"),
        ("minutes = 4", "minutes = 30", "1.1/drill.toml:2: minutes"),
        ("cost_s = 60", "cost_s = 0", "measurements.diff.cost_s"),
        ("minutes = 4", "minutes = ", "not valid TOML"),
        (
            'command = "nvidia-smi"',
            'command = "nvidia-smi"\nprice = 3',
            "measurements.utilisation.price",
        ),
    ],
)
def test_a_broken_drill_names_its_file_and_key(written, old, new, words):
    with pytest.raises(SpecError, match=re.escape(words)) as caught:
        written(old, new)
    assert re.search(r"1\.1/drill\.toml:\d+: ", str(caught.value))


@pytest.mark.parametrize("name", ["notes.txt", "1.x", "4"])
def test_what_is_no_drill_beside_the_drills_is_named(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(SpecError, match=f"{name}: here stand folders called by"):
        drills.__wrapped__(tmp_path)


def test_a_folder_without_a_file_is_named(tmp_path):
    (tmp_path / "9.9").mkdir()
    with pytest.raises(SpecError, match=r"9\.9/drill\.toml: there is no such file"):
        load_drill(tmp_path / "9.9")


def test_a_seed_stands_for_one_served_world_and_all_are_met():
    spec = drills()["1.1"]
    worlds = [spec.world_of(seed) for seed in range(200)]
    assert set(worlds) == set(spec.served)
    assert worlds == [spec.world_of(seed) for seed in range(200)]


def test_priors_sum_to_one():
    for spec in drills().values():
        assert sum(spec.priors.values()) == pytest.approx(1)
