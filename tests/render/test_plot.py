"""Figures of releases: what is drawn, where, in which words, and how it is written."""

from __future__ import annotations

import doctest
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

import quietrank as qr
from quietrank.demo import demo_votes
from quietrank.errors import PrivacyError, ReleaseError
from quietrank.pipeline import exact_scores
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.release import Certainty, Release, Row
from quietrank.publish.tabular import NoiseRecord
from quietrank.publish.view import Scale
from quietrank.render import plot
from quietrank.render.forest import COLOURS, GOES_ON, Theme, rank_ticks, tier_edges
from quietrank.render.plot import comparison_of, figure_of, label

PRIVACY = qr.Privacy(1, "person", max_per_person=3)
HOSTILE = ["$x_1$", "a_b^c", r"\frac{1}{2}", "<b>&amp;", "tab\there", "line\nbreak", "\x1b[2J", "\u202eback", "50%#~"]


def release(items: int | Sequence[str], *, known: bool = True, tiers: int = 3, **fields: Any) -> Release:
    """A release with scores from 1 down to −1, intervals of ± 0.1 and more, and rank sets of ± 2."""
    names = [f"item-{k}" for k in range(items)] if isinstance(items, int) else list(items)
    n = len(names)
    rows = []
    for k, name in enumerate(names):
        row = Row(k + 1, name, 1 - 2 * k / max(n - 1, 1))
        sure = replace(
            row, rank_low=max(1, k - 1), rank_high=min(n, k + 3), score_low=row.score - 0.1,
            score_high=row.score + 0.1 + k / (10 * n), tier=1 + k * tiers // n,
        )  # fmt: skip
        rows.append(sure if known else row)
    certainty = Certainty(0.9, False, 3, 0.05, 1.0) if known else None
    values = {"method": "bradley-terry", "certainty": certainty, **fields}
    return Release(tuple(rows), PRIVACY, NoiseRecord("laplace", ()), **values)


def grouped(groups: int = 2, items: int = 5) -> GroupedRelease:
    """Groups that rank the same items, each beginning with another one."""
    names = [f"item-{k}" for k in range(items)]
    rankings = [release(names[k % items :] + names[: k % items]) for k in range(groups)]
    return GroupedRelease("land", tuple((f"group-{k}", one) for k, one in enumerate(rankings)))


def panels(figure: Figure, axis: str) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_xlabel() == axis]


def segments(axes: Axes, name: str) -> list[tuple[float, float, float]]:
    """Row, left and right end of each line of that name."""
    (lines,) = [one for one in axes.collections if isinstance(one, LineCollection) and one.get_label() == name]
    return [(float(line[0][1]), float(line[0][0]), float(line[1][0])) for line in lines.get_segments()]


def points(axes: Axes, name: str = "points") -> list[tuple[float, float]]:
    """Row and position of each point of that name."""
    (line,) = [one for one in axes.lines if isinstance(one, Line2D) and one.get_label() == name]
    return [(float(y), float(x)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]  # type: ignore[arg-type]


def all_texts(figure: Figure) -> list[Text]:
    return [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in all_texts(figure)]


def size_of(text: Text) -> float:
    return float(text.get_fontsize())


def svg_texts(path: Path) -> list[str]:
    """Every text of an SVG file, which is also read as XML here."""
    return ["".join(node.itertext()) for node in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


# ---- what is drawn ----------------------------------------------------------------------------------------------


def test_points_intervals_and_rank_sets_stand_where_the_rows_say() -> None:
    """In data coordinates, from the best item to the last."""
    made = release(7)
    figure = figure_of(made)
    (scores,), (ranks,) = panels(figure, "score (log-odds)"), panels(figure, "rank")
    assert points(scores) == [(k, row.score) for k, row in enumerate(made)]
    assert segments(scores, "intervals") == [(k, row.score_low, row.score_high) for k, row in enumerate(made)]
    assert points(ranks) == [(k, row.rank) for k, row in enumerate(made)]
    assert segments(ranks, "rank sets") == [(k, row.rank_low, row.rank_high) for k, row in enumerate(made)]
    assert scores.get_ylim() == ranks.get_ylim() == (6.5, -0.5)  # the best is at the top


def test_everything_lies_within_the_axes() -> None:
    made = release(7)
    (scores,) = panels(figure_of(made), "score (log-odds)")
    left, right = scores.get_xlim()
    assert left < min(row.score_low or 0 for row in made)
    assert right > max(row.score_high or 0 for row in made)


@pytest.mark.parametrize("tiers", [1, 3, 7])
def test_a_rule_between_two_tiers(tiers: int) -> None:
    """One less than there are tiers, each between the last of a tier and the first of the next."""
    made = release(7, tiers=tiers)
    rules = [row for row, _, _ in segments(figure_of(made).axes[0], "tiers")]
    starts = [k for k in range(1, 7) if made.ranking[k].tier != made.ranking[k - 1].tier]
    assert rules == [k - 0.5 for k in starts]
    assert len(rules) == tiers - 1


def test_without_certainty_there_are_points_only() -> None:
    """No strip of ranks, no rules, and a sentence that says so."""
    figure = figure_of(release(5, known=False))
    assert panels(figure, "rank") == []
    (scores,) = panels(figure, "score (log-odds)")
    assert len(points(scores)) == 5
    assert segments(scores, "intervals") == []
    assert segments(figure.axes[0], "tiers") == []
    assert any("no intervals" in text for text in texts(figure))
    assert not any("90\u00a0%" in text for text in texts(figure))


AXES = {
    ("net-wins", Scale.LOG_ODDS): "net wins (votes)",
    ("wins", Scale.LOG_ODDS): "wins (votes)",
    ("win-rate", Scale.LOG_ODDS): "win rate",
    ("bradley-terry", Scale.LOG_ODDS): "score (log-odds)",
    ("bradley-terry", Scale.ELO): "score (Elo points)",
    ("bradley-terry", Scale.PROBABILITY): "chance to win against an average item",
    ("method of tomorrow", Scale.LOG_ODDS): "score",
}


@pytest.mark.parametrize(("method", "scale"), AXES)
def test_the_axis_names_the_unit(method: str, scale: Scale) -> None:
    assert len(panels(figure_of(release(4, method=method, scale=scale)), AXES[method, scale])) == 1


def test_the_words_say_what_is_shown_and_what_is_promised() -> None:
    """Items, method, unit, ε and level first; the promise, in full, last."""
    made = release(6)
    shown = texts(figure_of(made))
    assert "6 items by Bradley–Terry score, ε = 1 per person, 90\u00a0% intervals" in " ".join(shown)
    assert made.statement in " ".join(shown)
    together = replace(made, certainty=Certainty(0.95, True, 3, 0.05, 1.0))
    assert "95\u00a0% confidence, for all items together" in " ".join(texts(figure_of(together))).replace("\n", " ")


def test_one_item_or_equal_scores_can_be_drawn() -> None:
    assert len(points(figure_of(release(5).top(1)).axes[1])) == 1
    equal = replace(release(3, known=False), ranking=tuple(Row(k, f"i{k}", 2.0) for k in (1, 2, 3)))
    assert figure_of(equal).axes[1].get_xlim() == (0.0, 4.0)


def test_an_interval_that_is_not_a_number_hides_nothing_else() -> None:
    """A file cannot hold one, but a figure must not fail after its release was paid for."""
    made = release(3)
    odd = replace(made, ranking=(replace(made.ranking[0], score_low=float("nan")), *made.ranking[1:]))
    assert np.isfinite(figure_of(odd).axes[1].get_xlim()).all()


# ---- names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("items", [6, 40, 200])
@pytest.mark.few(2)
def test_every_item_is_named(tmp_path: Path, items: int) -> None:
    """Once each, with its rank, as text that can be searched for."""
    made = release(items)
    made.plot(tmp_path / "figure.svg")
    shown = svg_texts(tmp_path / "figure.svg")
    assert [text for text in shown if text.startswith("item-")] == [row.item for row in made]


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    """No formula, no markup, no line break, no control character."""
    release(HOSTILE).plot(tmp_path / "figure.svg")
    shown = svg_texts(tmp_path / "figure.svg")
    for name in ("$x_1$", "a_b^c", r"\frac{1}{2}", "<b>&amp;", r"tab\there", r"line\nbreak", r"\x1b[2J", r"\u202eback"):
        assert name in shown
    release(HOSTILE).plot(tmp_path / "figure.png")


def test_long_names_lose_their_middle() -> None:
    """Both ends tell them apart; a Chinese letter is as wide as two others."""
    assert label("a" * 30) == "a" * 30
    assert label("a" * 500 + "-2024") == "a" * 20 + "…" + "aaaa-2024"
    assert label("名" * 500) == "名" * 10 + "…" + "名" * 4
    assert len({label(f"organisation/model-of-many-words-{k}") for k in range(9)}) == 9


def test_letters_that_the_font_lacks_are_told_once(tmp_path: Path) -> None:
    """With the remedy; a file that holds text needs no glyphs."""
    made = release(["名前", "b"])
    with pytest.warns(UserWarning, match=r"write the figure as \.svg") as heard:
        made.plot(tmp_path / "figure.png")
    assert len(heard) == 1
    made.plot(tmp_path / "figure.svg")
    assert "名前" in svg_texts(tmp_path / "figure.svg")


# ---- sizes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("items", [2, 6, 40, 200])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.few(2)
def test_nothing_overlaps_or_is_cut_off(items: int, exact: bool) -> None:
    """Every text lies on the page, and no two meet."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    made = release([f"a rather long name of item {k}" for k in range(items)])
    figure = comparison_of(made, {"": {row.item: row.score for row in made}}) if exact else figure_of(made)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    ticks = [
        tick
        for axes in figure.axes
        for tick in axes.get_xticklabels()
        if axes.get_xlabel() and axes.get_xlim()[0] <= tick.get_position()[0] <= axes.get_xlim()[1]  # others are hidden
    ]
    shown = all_texts(figure) + ticks
    shown += [axes.xaxis.label for axes in figure.axes if axes.get_xlabel()]
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in shown if text.get_text()]
    for k, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, shown[k].get_text()
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, shown[k].get_text()
        assert not any(other.padded(-1).overlaps(box.padded(-1)) for other in boxes[:k]), shown[k].get_text()


def test_the_page_grows_and_the_type_shrinks() -> None:
    """200 items have a row each; more than can be read are left out, which is said."""
    few, many, too_many = (figure_of(release(n)) for n in (6, 200, 500))
    assert few.get_size_inches()[1] < 5 < 20 < many.get_size_inches()[1]
    assert few.get_size_inches()[0] < 8
    assert size_of(many.axes[0].texts[0]) < size_of(few.axes[0].texts[0])
    assert len(points(too_many.axes[1])) == 400
    assert "The first 400 of 500 items are shown." in texts(too_many)
    assert not any("are shown" in text for text in texts(many))


@pytest.mark.parametrize(
    ("last", "ticks"), [(6, [1, 2, 3, 4, 5, 6]), (12, [1, 3, 5, 7, 9, 11]), (200, [1, 50, 100, 150, 200])]
)
def test_ranks_have_round_ticks(last: int, ticks: list[int]) -> None:
    assert rank_ticks(last, 6) == ticks


def test_tier_edges() -> None:
    assert tier_edges([1, 1, 2, 3, 3]) == (2, 3)
    assert tier_edges([None, None]) == ()


# ---- groups -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_groups_share_axis_and_order(groups: int) -> None:
    """One panel per group, with the same scale, and each item in the same row."""
    made = grouped(groups)
    figure = figure_of(made)
    scores, ranks = panels(figure, "score (log-odds)"), panels(figure, "rank")
    assert len(scores) == len(ranks) == groups
    assert len({axes.get_xlim() for axes in scores}) == len({axes.get_xlim() for axes in ranks}) == 1
    names = [text.get_text() for text in figure.axes[0].texts if text.get_text()]
    for (_, one), axes in zip(made, scores, strict=True):
        by_name = {row.item: row.score for row in one}
        assert points(axes) == [(k, by_name[name]) for k, name in enumerate(names)]
    assert set(made.groups) <= set(texts(figure))


def test_one_wide_interval_does_not_make_dots_of_all_others() -> None:
    """The shared axis ends beside the points; an arrow says that an interval goes on, and so does a note."""
    made = grouped(2, 4)
    (group, one), other = made.releases
    last = one.ranking[-1]
    wide = replace(one, ranking=(*one.ranking[:-1], replace(last, score_low=-1000.0)))
    figure = figure_of(replace(made, releases=((group, wide), other), overall=one))
    overall, first, second = panels(figure, "score (log-odds)")
    scores = [row.score for row in one]
    assert overall.get_xlim() == first.get_xlim() == second.get_xlim()
    assert first.get_xlim()[0] > min(scores) - 0.5 * (max(scores) - min(scores))
    marked = [[line.get_marker() for line in axes.lines if line.get_label() == "arrows"] for axes in (overall, first)]
    assert marked == [[], ["<"]]
    assert GOES_ON in " ".join(texts(figure))
    assert GOES_ON not in " ".join(texts(figure_of(made)))
    assert texts(figure).index("overall") < texts(figure).index(group)


def test_items_of_groups_are_ordered_by_their_mean_rank() -> None:
    """And the figure says so, and states the promise for all groups."""
    made = grouped(2, 4)  # ranks 1 2 3 4 and 4 1 2 3
    names = [text.get_text() for text in figure_of(made).axes[0].texts if text.get_text()]
    assert names == ["item-1", "item-0", "item-2", "item-3"]
    shown = " ".join(texts(figure_of(made)))
    assert "mean rank" in shown
    assert "2 groups by land, 4 items by Bradley–Terry score, ε = 1 per person for all together" in shown
    assert made.statement in shown


def test_a_group_may_lack_items() -> None:
    """As after `top`: the row stays empty."""
    figure = figure_of(grouped(2, 5).top(2))
    assert [len(points(axes)) for axes in panels(figure, "score (log-odds)")] == [2, 2]
    assert len([text for text in figure.axes[0].texts if text.get_text()]) == 3


def test_many_groups_are_cut_short() -> None:
    made = grouped(70, 30)
    figure = figure_of(made)
    assert len(panels(figure, "rank")) == 60
    assert {"The first 60 of 70 groups are shown.", "The first 20 of 30 items are shown."} <= set(texts(figure))


# ---- colours ----------------------------------------------------------------------------------------------------


def _luminance(colour: str) -> float:
    """Relative luminance, as WCAG defines it."""
    channels = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_the_measure_of_contrast() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", Theme)
def test_contrast_is_enough(theme: Theme) -> None:
    """WCAG: 4.5 for text, 3 for marks; warnings are large type, and the key names the marks in their colours."""
    colours = COLOURS[theme]
    assert min(contrast(colours.page, text) for text in (colours.text, colours.small_print)) >= 4.5
    assert min(contrast(colours.page, mark) for mark in (colours.mark, colours.exact)) >= 3
    assert contrast(colours.page, colours.rule) > contrast(colours.page, colours.grid) > 1.1


@pytest.mark.parametrize("theme", Theme)
def test_a_theme_colours_everything(theme: Theme) -> None:
    """No text keeps the colour of the other theme."""
    from matplotlib.colors import to_hex

    figure, colours = figure_of(grouped(), theme), COLOURS[theme]
    assert to_hex(figure.get_facecolor()) == colours.page
    for text in all_texts(figure):
        assert contrast(to_hex(text.get_color()), colours.page) >= 4.5
    for axes in figure.axes[1:]:
        labels = [axes.xaxis.label, *axes.get_xticklabels()]
        assert min(contrast(to_hex(text.get_color()), colours.page) for text in labels) >= 4.5


# ---- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
@pytest.mark.few(2)
def test_the_same_release_is_the_same_file(tmp_path: Path, ending: str) -> None:
    """No date, no random ids."""
    first, second = (tmp_path / f"{name}.{ending}" for name in "ab")
    release(6).plot(first)
    release(6).plot(second)
    assert first.read_bytes() == second.read_bytes()


def test_a_reader_s_settings_do_not_change_the_page(tmp_path: Path) -> None:
    """Neither their colours nor TeX; names stay names."""
    from matplotlib import rc_context

    release(HOSTILE).plot(tmp_path / "plain.svg", theme="dark")
    with rc_context(
        {"text.usetex": True, "savefig.bbox": "tight", "savefig.facecolor": "red", "axes.facecolor": "red"}
    ):
        release(HOSTILE).plot(tmp_path / "own.svg", theme="dark")
    assert (tmp_path / "plain.svg").read_bytes() == (tmp_path / "own.svg").read_bytes()


@pytest.mark.parametrize("name", ["figure.gif", "figure", "figure.svg.txt", ".png.jpg"])
@pytest.mark.parametrize("made", [release(3), grouped()], ids=["release", "grouped"])
def test_another_ending_is_refused(tmp_path: Path, made: Release | GroupedRelease, name: str) -> None:
    with pytest.raises(ReleaseError, match=r"\.png, \.svg or \.pdf"):
        made.plot(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_another_theme_is_refused() -> None:
    with pytest.raises(PrivacyError, match="theme must be one of light, dark; got theme='blue'"):
        release(3).plot(theme="blue")  # type: ignore[arg-type]


def test_a_failure_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither half a figure nor the draft of one, and the earlier figure stays."""
    release(3).plot(tmp_path / "old.png")
    before = (tmp_path / "old.png").read_bytes()

    def half(figure: Figure, path: Path, **_: Any) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", half)
    for name in ("new.png", "old.png"):
        with pytest.raises(ReleaseError, match="No space left"):
            release(4).plot(tmp_path / name, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["old.png"]
    assert (tmp_path / "old.png").read_bytes() == before


def test_a_file_of_another_kind_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine.png").write_bytes(b"my holidays")
    with pytest.raises(ReleaseError, match="not a picture by quietrank"):
        release(3).plot(tmp_path / "mine.png")
    release(3).plot(tmp_path / "figure.png")
    release(4).plot(tmp_path / "figure.png", overwrite=True)


@pytest.mark.parametrize("made", [Release, GroupedRelease])
def test_the_examples_run(made: type) -> None:
    (example,) = doctest.DocTestFinder(recurse=False).find(made.plot)  # type: ignore[attr-defined]
    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


def test_importing_the_module_draws_nothing() -> None:
    """Neither matplotlib nor NumPy is loaded before a figure is asked for, and never a window."""
    code = "import sys, quietrank.render.plot; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "pyplot" not in Path(plot.__file__).read_text(encoding="utf-8")


# ---- the data holder's comparison -------------------------------------------------------------------------------


def test_the_comparison_shows_exact_values_and_is_marked() -> None:
    """Exact scores and their ranks beside the private ones; large letters, and no promise that does not hold."""
    made = release(4)
    exact = {"item-0": 0.2, "item-1": 0.9, "item-2": -0.5, "item-3": -3.0}
    figure = comparison_of(made, {"": exact})
    (scores,), (ranks,) = panels(figure, "score (log-odds)"), panels(figure, "rank")
    assert points(scores, "exact") == [(0, 0.2), (1, 0.9), (2, -0.5), (3, -3.0)]
    assert points(ranks, "exact") == [(0, 2), (1, 1), (2, 3), (3, 4)]
    assert points(scores) == points(panels(figure_of(made), "score (log-odds)")[0])
    assert scores.get_xlim()[0] < -3
    (warning,) = [text for text in figure.texts if "CONFIDENTIAL" in text.get_text()]
    assert size_of(warning) >= 18
    assert made.statement not in " ".join(texts(figure))
    assert not any("CONFIDENTIAL" in text for text in texts(figure_of(made)))


def test_the_comparison_of_groups() -> None:
    made = grouped()
    figure = comparison_of(made, {group: {row.item: 2 * row.score for row in one} for group, one in made})
    assert [len(points(axes, "exact")) for axes in panels(figure, "rank")] == [5, 5]


@pytest.mark.parametrize("method", ["net-wins", "wins", "win-rate", "bradley-terry"])
def test_exact_scores_are_what_a_release_without_noise_would_say(method: Any) -> None:
    """At a huge ε, and where the pairs that met are public, private and exact scores agree."""
    votes, privacy = demo_votes(), qr.Privacy(1e6, "comparison", design="public", neighbours="outcome")
    made = qr.rank(votes, privacy, method=method)
    exact = exact_scores(votes, made)[""]
    assert [row.score for row in made] == pytest.approx([exact[row.item] for row in made], rel=0.02, abs=0.02)


def test_exact_scores_are_on_the_scale_of_the_release() -> None:
    """Elo points have the mean of those of the release, probabilities lie between 0 and 1."""
    votes = demo_votes()
    made = qr.rank(votes, qr.Privacy(1, "person", one_per_pair=True, design="uniform"), method="bradley-terry")
    plain = exact_scores(votes, made)[""]
    elo = replace(made, scale=Scale.ELO, ranking=tuple(replace(row, score=1200.0) for row in made))
    points_of = exact_scores(votes, elo)[""]
    assert np.mean(list(points_of.values())) == pytest.approx(1200)
    spread = points_of["London"] - points_of["Paris"]
    assert spread == pytest.approx(400 / np.log(10) * (plain["London"] - plain["Paris"]))
    chance = exact_scores(votes, replace(made, scale=Scale.PROBABILITY))[""]
    assert chance["London"] == pytest.approx(1 / (1 + np.exp(-plain["London"])))
