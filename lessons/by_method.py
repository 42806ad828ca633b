"""One address that shows (GET) and takes (POST): whatever else is tried is refused with the three methods that there are."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Concatenate

from django.views.decorators.http import require_http_methods

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponseBase

type View[**P] = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def by_method[**P](show: View[P], take: View[P]) -> View[P]:
    """Return a view that answers GET and HEAD with ``show``, and POST with ``take``."""

    @wraps(show)
    def chosen(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        return (take if request.method == "POST" else show)(request, *args, **kwargs)

    return require_http_methods(["GET", "HEAD", "POST"])(chosen)
