"""Draws a flame graph. The width of a frame is its share of the samples."""

import html

WIDTH, HEIGHT, CHARACTER = 1600, 17, 6.6
# Narrower frames are left out, because they would be invisible.
LEAST = 0.0008


class Frame:
    def __init__(self, name):
        self.name, self.count, self.callees = name, 0, {}

    def add(self, stack, count):
        """Counts a stack, given outermost function first."""
        frame = self
        frame.count += count
        for name in stack:
            frame = frame.callees.setdefault(name, Frame(name))
            frame.count += count


def _colour(name):
    """Returns blue for the kernel and a warm color for others, always the same for a name."""
    shade = sum(name.encode()) % 55
    if name.startswith("[kernel] "):
        return f"rgb({150 + shade},{150 + shade},210)"
    return f"rgb(235,{130 + shade * 2},{70 + shade})"


def _draw(frame, left, depth, total, out):
    width = frame.count / total * WIDTH
    name = html.escape(frame.name)
    shown = html.escape(frame.name[: int(width / CHARACTER)]) if width > 4 * CHARACTER else ""
    out.append((depth, left, width, f"{name}: {frame.count / total:.1%}", shown, _colour(frame.name)))
    for callee in sorted(frame.callees.values(), key=lambda callee: callee.name):
        if callee.count / total >= LEAST:
            _draw(callee, left, depth + 1, total, out)
        left += callee.count / total * WIDTH


def flame_graph(title, stacks):
    """Returns the SVG of `stacks`, a dictionary of name tuples, outermost first, to counts."""
    root, boxes = Frame(title), []
    for stack, count in stacks.items():
        root.add(stack, count)
    _draw(root, 0, 0, root.count, boxes)
    bottom = (max(depth for depth, *_ in boxes) + 1) * HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom}" font-family="monospace" '
        'font-size="11">'
    ]
    for depth, left, width, hint, shown, colour in boxes:
        top = bottom - (depth + 1) * HEIGHT
        lines.append(
            f'<g><title>{hint}</title><rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{HEIGHT - 1}" '
            f'fill="{colour}"/><text x="{left + 2:.1f}" y="{top + 12}">{shown}</text></g>'
        )
    return "\n".join([*lines, "</svg>", ""])
