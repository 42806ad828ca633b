"""What the room of an attempt shows, read from its log: a file for each part of the page.

Reads only. Nothing here looks at the world, its hypothesis or its seed: what is not in the log or the panel is not
on the page.
"""

from labs.room.beliefs import LETTERS, Belief
from labs.room.diagnosis import Citable
from labs.room.lease_card import LeaseCard, card_of
from labs.room.room import Room, room_of
from labs.room.tools import price

__all__ = ["LETTERS", "Belief", "Citable", "LeaseCard", "Room", "card_of", "price", "room_of"]
