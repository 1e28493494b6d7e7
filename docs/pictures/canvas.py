"""A canvas for line drawings, written as SVG in a light and a dark form."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Literal, TypeAlias

__all__ = ["Canvas", "Tone"]

Anchor: TypeAlias = Literal["start", "middle", "end"]
Tone: TypeAlias = Literal["plain", "accent", "quiet", "solid"]

_FONT = "ui-sans-serif, system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
_LINE_HEIGHT = 18


@dataclass(frozen=True)
class Theme:
    """The colours of one form."""

    name: str
    ink: str
    faint: str
    line: str
    fill: dict[Tone, str]
    accent: str


THEMES = (
    Theme(
        "light",
        ink="#1f2933",
        faint="#52606d",
        line="#7b8794",
        fill={"plain": "#f5f7fa", "accent": "#dbeafe", "quiet": "#ffffff", "solid": "#1d4ed8"},
        accent="#1d4ed8",
    ),
    Theme(
        "dark",
        ink="#e4e7eb",
        faint="#a3b1bf",
        line="#7b8794",
        fill={"plain": "#27313c", "accent": "#1e3a6d", "quiet": "#1a222b", "solid": "#93b4ff"},
        accent="#93b4ff",
    ),
)


@dataclass
class Canvas:
    """Boxes, arrows and words on an area measured in pixels."""

    title: str
    """The text that stands for the picture where it cannot be seen."""
    width: int
    height: int
    _shapes: list[str] = field(default_factory=list)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        words: str = "",
        tone: Tone = "plain",
        dashed: bool = False,
    ) -> None:
        """Draws a box with words in its middle, a line of them for each line of the text."""
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        edge = "accent" if tone == "solid" else "line"
        self._shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" '
            f'fill="{{fill[{tone}]}}" stroke="{{{edge}}}"{dashes}/>'
        )
        lines = words.splitlines()
        top = y + height / 2 - _LINE_HEIGHT * (len(lines) - 1) / 2 + 5
        for number, line in enumerate(lines):
            self.text(x + width / 2, top + number * _LINE_HEIGHT, line, anchor="middle")

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        anchor: Anchor = "start",
        color: Literal["ink", "faint", "accent"] = "ink",
        weight: int = 400,
    ) -> None:
        """Writes a line of words whose start, middle or end is at `x`."""
        self._shapes.append(
            f'<text x="{x:g}" y="{y:g}" fill="{{{color}}}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(words)}</text>'
        )

    def arrow(self, *points: tuple[float, float], accent: bool = False) -> None:
        """Draws a line through the points, with a head at the last one."""
        color = "accent" if accent else "line"
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._shapes.append(
            f'<polyline points="{path}" fill="none" stroke="{{{color}}}" stroke-width="1.5" '
            f'marker-end="url(#{color})"/>'
        )

    def line(
        self,
        *points: tuple[float, float],
        color: Literal["ink", "line", "accent"] = "ink",
        width: float = 1,
    ) -> None:
        """Draws a line through the points."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._shapes.append(
            f'<polyline points="{path}" fill="none" stroke="{{{color}}}" stroke-width="{width:g}"/>'
        )

    def render(self) -> Iterator[tuple[str, str]]:
        """The name of each form, with its SVG."""
        body = "\n  ".join(self._shapes)
        for theme in THEMES:
            yield theme.name, self._framed(theme, body.format_map(vars(theme)))

    def _framed(self, theme: Theme, body: str) -> str:
        heads = "".join(
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="{color}"/></marker>'
            for name, color in (("line", theme.line), ("accent", theme.accent))
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" font-size="14" '
            f'font-family="{_FONT}">\n  <title>{escape(self.title)}</title>\n'
            f"  <defs>{heads}</defs>\n  {body}\n</svg>\n"
        )
