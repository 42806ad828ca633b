"""Markdown and blocks to HTML with the classes of app.css.

Python-Markdown renders; the furniture of a lesson is pymdown-extensions' generic blocks. What a
person answers (checks, predictions) and what is computed (figures) is not rendered here: it leaves
a *slot*, which the page fills for the one who reads it.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.treeprocessors import Treeprocessor
from pymdownx.blocks import BlocksExtension
from pymdownx.blocks.block import Block as MarkdownBlock

from courseware.glossary import Keywords, tightened
from courseware.harmless import Harmless
from labs.charts.numbers import bound

LAYERS = ("boundary", "overload", "memory", "compatibility", "lifetime")
SLOT = re.compile(
    r'<div class="slot" data-block="(?P<block>[a-z]+)" data-name="(?P<name>[^"]+)"></div>'
)
_LAYER_MARK = rf":({'|'.join(LAYERS)}):"


def _icon(parent: ET.Element, symbol: str) -> ET.Element:
    svg = ET.SubElement(parent, "svg", {"class": "i", "aria-hidden": "true"})
    ET.SubElement(svg, "use", {"href": f"#{symbol}"})
    return svg


# -------------------------------------------------------------------------------------- inline marks


class _LayerProcessor(InlineProcessor):
    """``:memory:``: the layer's glyph and word."""

    def handleMatch(  # type: ignore[override]  # noqa: N802
        self, m: re.Match[str], data: str
    ) -> tuple[ET.Element, int, int]:
        del data
        span = ET.Element("span", {"class": f"layer {m[1]}"})
        _icon(span, f"i-{m[1]}").tail = m[1]
        return span, m.start(0), m.end(0)


# --------------------------------------------------------------------------------------- tree repairs


class _Furniture(Treeprocessor):
    """After the inline pass: row headings, right-aligned numbers."""

    def run(self, root: ET.Element) -> None:
        for table in root.iter("table"):
            self._table(table)
        for figure in root.iter("figure"):
            if "stacked" in figure.get("class", ""):
                for table in figure.iter("table"):
                    self._stacked(table)
            if "decode" in figure.get("class", ""):
                for row in figure.iter("tr"):
                    self._plainly(row)
                self._result(figure)

    @staticmethod
    def _table(table: ET.Element) -> None:
        for row in table.iter("tr"):
            for place, cell in enumerate(row):
                if cell.get("align") == "right":
                    cell.set("class", "n")
                cell.attrib.pop("align", None)
                if cell.tag == "th" and not "".join(cell.itertext()).strip():
                    cell.tag = "td"  # A corner without words is no heading.
                elif cell.tag == "th":
                    cell.set("scope", "col")
                elif place == 0:
                    cell.tag = "th"
                    cell.set("scope", "row")

    @staticmethod
    def _stacked(table: ET.Element) -> None:
        """Let a narrow page set each row as a paragraph: cells carry their heading, and roles keep it a table."""
        table.set("role", "table")
        heads = ["".join(cell.itertext()) for cell in next(table.iter("tr"))]
        for part in table:
            part.set("role", "rowgroup")
            for row in part:
                row.set("role", "row")
                for head, cell in zip(heads, row, strict=True):
                    is_head = cell.tag == "th"
                    role = "columnheader" if part.tag == "thead" else "rowheader"
                    cell.set("role", role if is_head else "cell")
                    if not is_head:
                        cell.set("data-head", head)

    @staticmethod
    def _plainly(row: ET.Element) -> None:
        """Put what follows the term of a formula's row into a span of its own."""
        head = row[0]
        if head.get("scope") != "row" or not len(head) or head[0].tag != "code":
            return
        span = ET.Element("span")
        span.text = (head[0].tail or "").strip()
        head[0].tail = " "
        for rest in list(head)[1:]:
            head.remove(rest)
            span.append(rest)
        head.append(span)

    @staticmethod
    def _result(figure: ET.Element) -> None:
        """Move a formula's last row, the result, into the table's foot."""
        table, body = figure.find(".//table"), figure.find(".//tbody")
        if table is not None and body is not None and len(body) > 1:
            last = body[-1]
            body.remove(last)
            ET.SubElement(table, "tfoot").append(last)


# --------------------------------------------------------------------------------------------- blocks


class _Slot(MarkdownBlock):  # type: ignore[misc]  # pymdown has no types
    NAME = "slot"
    ARGUMENT = True

    def on_create(self, parent: ET.Element) -> ET.Element:
        name, _, value = self.argument.partition(" ")
        return ET.SubElement(
            parent, "div", {"class": "slot", "data-block": name, "data-name": value}
        )


class _InShort(MarkdownBlock):  # type: ignore[misc]  # pymdown has no types
    NAME = "in-short"

    def on_create(self, parent: ET.Element) -> ET.Element:
        return ET.SubElement(parent, "div", {"class": "tldr"})

    def on_end(self, block: ET.Element) -> None:
        if len(block):
            text = block[0].text or ""
            block[0].text = ""
            label = ET.Element("b")
            label.text = "In short"
            label.tail = text
            block[0].insert(0, label)


class _Takeaway(MarkdownBlock):  # type: ignore[misc]  # pymdown has no types
    NAME = "takeaway"

    def on_create(self, parent: ET.Element) -> ET.Element:
        return ET.SubElement(parent, "section", {"class": "takeaway", "aria-label": "Takeaway"})


class _Titled(MarkdownBlock):  # type: ignore[misc]  # pymdown has no types
    """A box with a small heading that names it."""

    ARGUMENT = True
    TAG = "aside"
    SYMBOL = ""

    def on_create(self, parent: ET.Element) -> ET.Element:
        box = ET.SubElement(parent, self.TAG, {"class": self.NAME, "aria-label": self.argument})
        head = ET.SubElement(box, "p", {"class": "meta"})
        if self.SYMBOL:
            _icon(head, self.SYMBOL).tail = self.argument
        else:
            head.text = self.argument
        return box


class _Note(_Titled):
    NAME = "note"
    SYMBOL = "i-warn"


class _Analogy(_Titled):
    NAME = "analogy"
    TAG = "figure"


class _Side(MarkdownBlock):  # type: ignore[misc]  # pymdown has no types
    NAME = "side"
    ARGUMENT = True

    def on_create(self, parent: ET.Element) -> ET.Element:
        side = ET.SubElement(parent, "aside", {"class": "side meta", "aria-label": self.argument})
        ET.SubElement(side, "b").text = self.argument
        return side


class _Formula(MarkdownBlock):  # type: ignore[misc]  # pymdown has no types
    NAME = "formula"
    ARGUMENT = True

    def on_create(self, parent: ET.Element) -> ET.Element:
        figure = ET.SubElement(parent, "figure", {"class": "decode"})
        caption = ET.SubElement(figure, "figcaption")
        ET.SubElement(caption, "code").text = markdown.util.AtomicString(self.argument)
        return figure


class _Table(MarkdownBlock):  # type: ignore[misc]  # pymdown has no types
    NAME = "table"
    ARGUMENT = True

    def on_create(self, parent: ET.Element) -> ET.Element:
        figure = ET.SubElement(parent, "figure", {"class": "tabled"})
        ET.SubElement(figure, "figcaption", {"class": "plot-head"}).text = self.argument
        self.scroll = ET.SubElement(
            figure,
            "div",
            {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": self.argument},
        )
        return figure

    def on_add(self, block: ET.Element) -> ET.Element:
        del block
        return self.scroll


class _Blocks(BlocksExtension):  # type: ignore[misc]  # pymdown has no types
    def extendMarkdownBlocks(  # noqa: N802  # pymdown's name
        self, md: markdown.Markdown, block_mgr: Any
    ) -> None:
        del md
        for block in (_Slot, _InShort, _Takeaway, _Note, _Analogy, _Side, _Formula, _Table):
            block_mgr.register(block, self.getConfigs())


class _Marks(Extension):
    def extendMarkdown(self, md: markdown.Markdown) -> None:  # noqa: N802
        md.inlinePatterns.register(_LayerProcessor(_LAYER_MARK, md), "layer", 174)
        md.treeprocessors.register(_Furniture(md), "furniture", 5)


def _converter(*, is_open: str = "") -> markdown.Markdown:
    return markdown.Markdown(
        extensions=[
            "tables",
            "fenced_code",
            "sane_lists",
            _Blocks(),
            _Marks(),
            Keywords(is_open),
            Harmless(),
        ],
        extension_configs={"tables": {"use_align_attribute": True}},
        output_format="html",
    )


def page_html(source: str, *, is_open: str = "") -> str:
    """Render a station's text; interactive blocks are ``/// slot | block name`` and become slots.

    ``is_open`` names the term that stands unfolded.
    """
    html = bound(tightened(_converter(is_open=is_open).convert(source)))
    # A group, not a landmark: a page may hold several.
    return html.replace("<pre>", '<pre tabindex="0" role="group" aria-label="Example">')


def text_html(source: str) -> str:
    """Render a short text with paragraphs: the question of a check, the body of a prediction."""
    return bound(_converter().convert(source))


def inline_html(source: str) -> str:
    """Render one line: an option, a feedback."""
    html = bound(_converter().convert(source.strip()))
    return html.removeprefix("<p>").removesuffix("</p>") if html.count("<p>") == 1 else html
