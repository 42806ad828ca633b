"""Log and mark, as JSON values, become what the debrief shows: names for ids, sentences, figures, lanes and steps."""

from labs.debrief.whole import Debrief, debrief

__all__ = ["Debrief", "debrief"]
