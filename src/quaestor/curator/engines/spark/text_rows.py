"""Rows of CSV files in Spark: every field a text, and no row an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quaestor.curator.engines.text_files import separator_of

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Source

__all__ = ["TEXT_SETTINGS", "text_frame"]

TEXT_SETTINGS: Final = {"spark.sql.legacy.javaCharsets": "true"}  # windows-1252 and others
_CHARSETS: Final = {"latin-1": "iso-8859-1", "utf-16-le": "utf-16le", "utf-16-be": "utf-16be"}


def text_frame(session: Any, source: Source, pattern: str, names: list[str] | None) -> Any:
    """The files as a frame of texts; None for the names if Spark has to read them itself.

    Only a line feed ends a line; what is left of other line ends is taken away here, as
    :mod:`quaestor.curator.engines.text_files` does it for other engines.
    """
    from pyspark.sql import functions, types

    texts = None
    if names is not None:
        texts = types.StructType([types.StructField(n, types.StringType()) for n in names])
    encoding = source.format.encoding
    frame = session.read.csv(
        pattern,
        schema=texts,
        header=source.format.header,
        inferSchema=False,
        sep=separator_of(source),
        encoding=_CHARSETS.get(encoding, encoding),
        lineSep="\n",
        escape='"',
        maxColumns=1_000_000,  # a line of more fields than the default fails
        multiLine=True,  # a quoted line break is part of its field, and no row of its own
        mode="PERMISSIVE",
    )

    def plain(name: str) -> Any:
        field = frame["`" + name.replace("`", "``") + "`"]
        lines = functions.replace(field, functions.lit("\r\n"), functions.lit("\n"))
        whole = functions.translate(functions.rtrim(lines, functions.lit("\r")), "\r", " ")
        return functions.when(field != "\r", whole).alias(name)

    return frame.select(*map(plain, frame.columns))
