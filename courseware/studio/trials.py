"""Trying a draft: one person's requests read a tree with the draft in it, until they end that."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from courseware import served
from courseware.models import DraftState
from courseware.people import may_author
from courseware.studio import checking, drafts, publishing, serving, store

if TYPE_CHECKING:
    from django.http import HttpRequest

    from courseware.models import Draft
    from courseware.served import Tree
    from courseware.studio.checking import Fault

KEY = "trial"
"""Of the session: which state of which draft."""


def begin(request: HttpRequest, draft: Draft) -> list[Fault]:
    """Let the person of a request try a draft from now on; return what forbids it, if anything does."""
    state = drafts.state_to_try(draft)
    try:
        tree = tree_with(state)
    except OSError as error:
        return [publishing.unwritable(state.piece, error)]
    faults = checking.faults_in(tree, [state.piece], proved_today=None)
    if not faults:
        request.session[KEY] = {
            "state": state.pk,
            "piece": state.piece,
            "draft": str(draft.public_id),
        }
    return faults


def end(request: HttpRequest) -> None:
    """Let the person of a request read the course as it is served."""
    request.session.pop(KEY, None)


def under_way(request: HttpRequest) -> dict[str, str] | None:
    """Return what a request's person tries; None if nothing."""
    session = getattr(request, "session", None)
    found = session.get(KEY) if session is not None else None
    return found if found and may_author(request.user) else None


def tree_for(request: HttpRequest) -> Tree | None:
    """Return the tree with the draft that a request's person tries; None if they try none, or it is gone."""
    found = under_way(request)
    state = DraftState.objects.filter(pk=found["state"]).first() if found is not None else None
    return tree_with(state) if state is not None else None


def tree_with(state: DraftState) -> Tree:
    """Return the course as it is served, with a state of a draft in it."""
    found = _tree(state.pk, state.digest, store.stamp())
    if not serving.is_whole(found):
        _tree.cache_clear()
        found = _tree(state.pk, state.digest, store.stamp())
    return found


@lru_cache(maxsize=4)
def _tree(state_pk: int, _digest: str, stamp: int) -> Tree:
    state = DraftState.objects.get(pk=state_pk)
    files = store.read(state.files)
    tree = publishing.candidate(store.newest(), {state.piece: files}, stamp)
    return served.of_trial(tree, state.pk)
