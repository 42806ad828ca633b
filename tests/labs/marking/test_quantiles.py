import pytest

from labs.marking.quantiles import normal_quantile, t_quantile


@pytest.mark.parametrize(
    ("freedom", "printed"),
    [
        (1, 12.706205),
        (2, 4.302653),
        (3, 3.182446),
        (4, 2.776445),
        (9, 2.262157),
        (10, 2.228139),
        (19, 2.093024),
        (30, 2.042272),
        (39, 2.022691),
        (120, 1.979930),
    ],
)
def test_student_s_t_is_the_printed_table(freedom, printed):
    assert t_quantile(0.975, freedom) == pytest.approx(printed, abs=5e-7)


@pytest.mark.parametrize(
    ("probability", "freedom", "printed"),
    [(0.95, 5, 2.015048), (0.99, 7, 2.997952), (0.995, 40, 2.704459), (0.5, 8, 0.0)],
)
def test_other_quantiles_of_t_are_the_printed_ones(probability, freedom, printed):
    assert t_quantile(probability, freedom) == pytest.approx(printed, abs=5e-7)


def test_t_tends_to_the_normal():
    assert t_quantile(0.975, 10_000) == pytest.approx(normal_quantile(0.975), abs=1e-3)


def test_a_quantile_that_does_not_exist_is_refused():
    for probability, freedom in [(1.0, 5), (0.4, 5), (0.9, 0)]:
        with pytest.raises(ValueError, match="no such quantile"):
            t_quantile(probability, freedom)
    with pytest.raises(ValueError, match="between 0 and 1"):
        normal_quantile(1.0)
