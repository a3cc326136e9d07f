"""An SVG in the making. Everything may have a title, which viewers show as a tooltip."""
from html import escape

STYLE = """
text { font: 11px system-ui, 'DejaVu Sans', sans-serif; fill: #333 }
text.heading { font-size: 17px; font-weight: 600 }
text.lane { font-weight: 600 }
text.small { font-size: 9.5px }
text.on { fill: #fff; font-weight: 600 }
text.axis { fill: #777 }
"""
# A little more than the mean width of a character of each size.
CHARACTER = {"small": 5.9, "on": 5.9}
OTHERS = 6.7


class Canvas:
    """Coordinates in pixels, y downwards; the height is known at the end."""

    def __init__(self, width):
        self.width = width
        self.parts = []

    def rectangle(self, x, y, width, height, fill, title="", **style):
        self.add("rect", title, x=x, y=y, width=max(width, 1), height=height, fill=fill,
                 **style)

    def line(self, x, y, to_x, to_y, stroke, title="", **style):
        self.add("line", title, x1=x, y1=y, x2=to_x, y2=to_y, stroke=stroke, **style)

    def diamond(self, x, y, size, fill, title="", **style):
        points = f"{x},{y - size} {x + size},{y} {x},{y + size} {x - size},{y}"
        self.add("polygon", title, points=points, fill=fill, **style)

    def text(self, x, y, text, kind="", title="", **style):
        name = {"class": kind} if kind else {}
        self.add("text", title, text, x=x, y=y, **name, **style)

    def add(self, element, title, text="", **attributes):
        """An element whose attributes have - for _ in their names."""
        values = "".join(f' {name.replace("_", "-")}="{describe(value)}"'
                         for name, value in attributes.items())
        inner = f"<title>{clean(title)}</title>" if title else ""
        self.parts.append(f"<{element}{values}>{inner}{clean(text)}</{element}>")

    def finish(self, height):
        """The whole SVG as text."""
        size = f'width="{self.width:.0f}" height="{height:.0f}"'
        box = f'viewBox="0 0 {self.width:.0f} {height:.0f}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box}>'
        paper = '<rect width="100%" height="100%" fill="#fff"/>'
        return "\n".join([head, f"<style>{STYLE}</style>", paper, *self.parts, "</svg>\n"])


def text_width(text, kind=""):
    return len(text) * CHARACTER.get(kind, OTHERS)


def describe(value):
    return f"{value:.1f}" if isinstance(value, float) else escape(str(value), quote=True)


def clean(text):
    """Escaped, without the control characters that XML does not allow."""
    return escape("".join(c if c >= " " or c == "\n" else "\N{REPLACEMENT CHARACTER}"
                          for c in text if not "\ud800" <= c <= "\udfff"), quote=False)
