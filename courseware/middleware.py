"""What happens to every request."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.conf import settings
from django.http import Http404
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render
from servestatic.middleware import ServeStaticMiddleware
from servestatic.responders import MissingFileError

from courseware import served
from courseware.studio import serving, trials
from courseware.views import not_there

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest
    from django.http.response import HttpResponseBase


class Compressed(GZipMiddleware):
    """Compress what is not compressed yet, but for event streams: an event held back is no event."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> Any:
        if response.get("Content-Type", "").startswith("text/event-stream"):
            return response
        return super().process_response(request, response)


class Static(ServeStaticMiddleware):  # type: ignore[misc]  # the package has no types for mypy
    """Static files; what is not among them is a page that does not exist, not a mistake of ours.

    While DEBUG is on, the package raises for such a path, and the visitor would read "500".
    """

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            found: HttpResponseBase = await super().__call__(request)
        except MissingFileError:
            missing: HttpResponseBase = await self.get_response(request)
            return missing
        return found


class _Either:
    """A middleware that a synchronous server and an asynchronous one can call."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        return self.later(request) if iscoroutinefunction(self) else self.now(request)

    def now(self, request: HttpRequest) -> HttpResponseBase:
        """Answer a synchronous server."""
        raise NotImplementedError

    async def later(self, request: HttpRequest) -> HttpResponseBase:
        """Answer an asynchronous one."""
        raise NotImplementedError


class too_large(_Either):  # noqa: N801  it is used like a function
    """Answer a body over the limit with our page: Django would raise where nobody can catch it."""

    def now(self, request: HttpRequest) -> HttpResponseBase:
        return refused(request) if is_too_large(request) else self.get_response(request)

    async def later(self, request: HttpRequest) -> HttpResponseBase:
        if is_too_large(request):
            return await sync_to_async(refused)(request)
        response: HttpResponseBase = await self.get_response(request)
        return response


def is_too_large(request: HttpRequest) -> bool:
    """Tell whether a request announces a body over the limit."""
    announced = request.META.get("CONTENT_LENGTH") or ""
    return announced.isdecimal() and int(announced) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def refused(request: HttpRequest) -> HttpResponseBase:
    return render(request, "413.html", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


class our_own_404(_Either):  # noqa: N801  it is used like a function
    """Show our 404 page while DEBUG is on, too: `make run` is how most people meet the site.

    Django's technical page lists every address of the site, and it is the first thing that
    a mistyped one shows.
    """

    def now(self, request: HttpRequest) -> HttpResponseBase:
        return self.own(request, self.get_response(request))

    async def later(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = await self.get_response(request)
        if response.status_code != HTTPStatus.NOT_FOUND:
            return response
        return await sync_to_async(self.own)(request, response)

    def own(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        # Django's technical page is the one that lifts the CSP for itself.
        is_technical = response.status_code == HTTPStatus.NOT_FOUND and hasattr(
            response, "_csp_config"
        )
        if settings.DEBUG and is_technical:
            return not_there(request, Http404())
        return response


class served_anew(_Either):  # noqa: N801  it is used like a function
    """Serve what was published since this process looked last, or the draft that this person tries."""

    def now(self, request: HttpRequest) -> HttpResponseBase:
        serving.look()
        with served.trying_or_not(trials.tree_for(request)):
            response: HttpResponseBase = self.get_response(request)
            return response

    async def later(self, request: HttpRequest) -> HttpResponseBase:
        if serving.is_time():
            await sync_to_async(serving.look)()
        tried = None
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            tried = await sync_to_async(trials.tree_for)(request)
        with served.trying_or_not(tried):
            response: HttpResponseBase = await self.get_response(request)
            return response
