"""What the pages draw: Plotly figures as plain dicts, and the lane of actions as percentages. Colours are tokens.

Figures say what is true (data, axes, shapes); ``static/js/charts.js`` says how it looks. Time is in incident
minutes, the page at 0.
"""

from labs.charts.alarm import alarm_figure, paths_figure
from labs.charts.axes import Figure, Points
from labs.charts.lanes import Bar, Done, Label, Lane, lane, shown_until_s
from labs.charts.numbers import number
from labs.charts.panels import panel_figure
from labs.charts.story import Spot, StoryStrip, story_strip
from labs.charts.value import value_figure

__all__ = [
    "Bar",
    "Done",
    "Figure",
    "Label",
    "Lane",
    "Points",
    "Spot",
    "StoryStrip",
    "alarm_figure",
    "lane",
    "number",
    "panel_figure",
    "paths_figure",
    "shown_until_s",
    "story_strip",
    "value_figure",
]
