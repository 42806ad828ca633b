import pytest

from labs.simulator.hardware.boxes import BOXES_DIR, BoxError, box, load_box

SXM, NVL = box("h100-sxm-4"), box("h100-nvl-4")


def test_every_table_of_a_box_says_where_it_comes_from():
    import tomllib

    for path in BOXES_DIR.glob("*.toml"):
        tables = [
            entry for entry in tomllib.loads(path.read_text()).values() if isinstance(entry, dict)
        ]
        assert len(tables) == 15
        assert all(entry["source"].strip() for entry in tables)


def test_eighteen_links_of_an_sxm_gpu_and_twelve_of_a_bridged_one_lead_somewhere():
    assert SXM.links_per_gpu == 18
    assert NVL.links_per_gpu == 12
    # NVLink4: 900 GB/s in both directions over 18 links; the NVL's bridge has 600 over 12.
    assert 2 * 18 * SXM.nvlink_gb_s == pytest.approx(956, abs=1)
    assert 2 * 12 * NVL.nvlink_gb_s == pytest.approx(637, abs=1)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('name = "h100-sxm-4"', "", "name"),
        ("value = 81559", 'value = "81559"', "memory_mib.value"),
        ("[power_cap_w]", "[power_cup_w]", "power_cap_w"),
        ('source = "nvidia-smi nvlink -s: one link, one direction"', "", "nvlink_gb_s.source"),
        ("numa_node = [0, 0, 1, 1]", "numa_node = [0, 0, 1]", "gpus or nvlink"),
        ("[2, 3]]", "[2, 9]]", "nvlink.pairs"),
        ('name = "h100-sxm-4"', 'name = "', "cannot be read"),
    ],
)
def test_a_bad_box_is_refused_by_file_and_key(tmp_path, old, new, key):
    text = (BOXES_DIR / "h100-sxm-4.toml").read_text()
    assert old in text
    path = tmp_path / "bad.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(BoxError, match=key):
        load_box(path)
