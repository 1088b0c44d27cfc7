"""Answers as workbooks of Excel and LibreOffice: the smallest file that ISO 29500 allows.

Texts are stored as texts, so that one which begins with ``=`` is not taken for a formula.
"""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from quaestor.curator.answers.frames import flat
from quaestor.curator.answers.shown import facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.language.expressions import Value

__all__ = ["to_workbook"]

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_SHEETS = ("answer", "notes")
_EXACT = 2**53
"""Whole numbers beyond it are written as texts: cells are floats."""
_DATED = (1980, 1, 1, 0, 0, 0)


def to_workbook(answer: Answer) -> bytes:
    """The bytes of an ``.xlsx`` file: a sheet with the columns of ``to_arrow``, one with notes."""
    columns = flat(answer)
    rows = zip(*(values for *_, values in columns), strict=True)
    table = [[name for name, _, _ in columns], *rows]
    notes = [[fact] for fact in facts(answer)] + ([[answer.sql]] if answer.sql else [])
    members = {
        "[Content_Types].xml": _content_types(),
        "_rels/.rels": _relationships([("officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": _book(),
        "xl/_rels/workbook.xml.rels": _relationships(
            [("worksheet", f"worksheets/{name}.xml") for name in _SHEETS]
        ),
        "xl/worksheets/answer.xml": _sheet(table),
        "xl/worksheets/notes.xml": _sheet(notes),
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name, _DATED), (_HEAD + text).encode())
    return written.getvalue()


def _content_types() -> str:
    parts = [("workbook.xml", "sheet.main")]
    parts += [(f"worksheets/{name}.xml", "worksheet") for name in _SHEETS]
    overrides = "".join(
        f'<Override PartName="/xl/{place}" ContentType="{_SHEET_TYPE}.{kind}+xml"/>'
        for place, kind in parts
    )
    relations = "application/vnd.openxmlformats-package.relationships+xml"
    return (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        f'<Default Extension="rels" ContentType="{relations}"/>{overrides}</Types>'
    )


def _relationships(targets: Sequence[tuple[str, str]]) -> str:
    inner = "".join(
        f'<Relationship Id="r{place}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for place, (kind, target) in enumerate(targets)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{inner}</Relationships>'


def _book() -> str:
    sheets = "".join(
        f'<sheet name="{name}" sheetId="{place + 1}" r:id="r{place}"/>'
        for place, name in enumerate(_SHEETS)
    )
    return f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{sheets}</sheets></workbook>'


def _sheet(rows: Iterable[Iterable[Value]]) -> str:
    inner = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{inner}</sheetData></worksheet>'


def _cell(value: Value) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, float) or (isinstance(value, int) and abs(value) <= _EXACT):
        return f"<c><v>{value!r}</v></c>"
    text = escape("".join(sign if _allowed(sign) else "\ufffd" for sign in str(value)))
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def _allowed(sign: str) -> bool:
    """Whether XML 1.0 can hold it."""
    place = ord(sign)
    return (
        sign in "\t\n\r"
        or (0x20 <= place <= 0xFFFD and not 0xD800 <= place <= 0xDFFF)
        or (place >= 0x10000)
    )
