"""The Markdown of a lab's own folder as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

import markdown
from django.utils.safestring import mark_safe

from courseware.glossary import Keywords, tightened
from courseware.harmless import Harmless
from labs.catalogue import text_of
from labs.charts.numbers import bound

if TYPE_CHECKING:
    from markdown.extensions import Extension


def prose(key: str, name: str) -> str:
    """Return a text of a lab, such as its brief."""
    return html_of(text_of(key, name))


def html_of(source: str) -> str:
    """Return a lab's Markdown as HTML; tables scroll by themselves."""
    extensions: list[str | Extension] = ["tables", "sane_lists", Keywords(), Harmless()]
    html = tightened(markdown.markdown(source, extensions=extensions))
    html = html.replace(
        "<table>",
        '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>',
    ).replace("</table>", "</table></div>")
    html = bound(html)
    # A corner without words is no heading.
    html = html.replace("<th></th>", "<td></td>")
    return mark_safe(html)  # noqa: S308  (it holds no HTML but Markdown's)
