"""An attempt as a story that can be scrubbed: at any moment, what had been read, what was believed, what was best next. Pure.

Nothing in here says whose attempt it is, and nothing is simulated: all of it follows from the log, the series that was
stored with it, the lab's table, and the mark.
"""

from labs.story.moments import Story, story_of
from labs.story.scene import Scene, scene_of

__all__ = ["Scene", "Story", "scene_of", "story_of"]
