# SPDX-License-Identifier: MIT
"""plot.py RESULTS CHARTS: draws the charts CHARTS/depth.svg, states.svg and overhead.svg from the CSV files in RESULTS.

The charts carry their own colours for light and dark pages.
"""

import math
import pathlib
import sys

from results import STATES, Overhead, Walks

WIDTH, HEIGHT = 800, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 225, 44, 52

STYLE = """<style>
text { font: 13px sans-serif; fill: #333 } .title { font-weight: bold; font-size: 15px } .axis { stroke: #999 }
.grid { stroke: #ddd } .page { fill: #fff }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .axis { stroke: #888 } .grid { stroke: #444 } .page { fill: #181818 }
}
</style>"""

# A colour a walker, the same in each chart; those of spwalk stand out.
COLOURS = {
    "frame pointers": "#7f7f7f",
    "abseil": "#bcbd22",
    "sp_backtrace": "#d62728",
    "sp_backtrace, half and half": "#ff7f0e",
    "sp_backtrace, no plugin": "#ff9896",
    "sp_walk": "#8c564b",
    "unw_backtrace": "#1f77b4",
    "unw_step": "#17becf",
    "glibc backtrace": "#2ca02c",
    "_Unwind_Backtrace": "#9467bd",
    "libbacktrace": "#e377c2",
}
# Where a series is not the walker of its name on a stack with words and frame pointers: the build and the stack.
COVERS = {"no plugin": ("plain", "whole"), "half and half": ("words", "half")}
BUILD_COLOURS = {"frame-pointers": "#7f7f7f", "words": "#d62728"}
BUILD_NAMES = {"frame-pointers": "frame pointers", "words": "words"}


def cell_of(walks, series, state, depth):
    """The measurement of one of COLOURS."""
    walker, _, cover = series.partition(", ")
    return walks.find(*COVERS.get(cover, ("both", "whole")), state, "own", depth, walker)


class Drawing:
    def __init__(self, title, height=HEIGHT):
        self.height = height
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
                      f'height="{height}" role="img" aria-label="{title}">', STYLE,
                      f'<rect class="page" width="{WIDTH}" height="{height}"/>']
        self.text(WIDTH / 2, 24, title, "middle", "title")

    def text(self, x, y, text, anchor="start", kind=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{text}</text>')

    def line(self, x1, y1, x2, y2, kind):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def path(self, points, colour, bold):
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{3 if bold else 1.7}"/>')
        for x, y in points:
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3 if bold else 2}" fill="{colour}"/>')

    def bar(self, x, y, width, height, colour):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>')

    def whisker(self, x, low, high):
        self.line(x, low, x, high, "axis")

    def save(self, path):
        path.write_text("\n".join([*self.parts, "</svg>\n"]), encoding="utf-8")
        print(path)


class LogAxis:
    """Values on a vertical axis, a decade at equal steps."""

    def __init__(self, drawing, low, high, unit):
        self.low, self.high = math.floor(math.log10(low)), math.ceil(math.log10(high))
        self.top, self.bottom = TOP, drawing.height - BOTTOM
        for power in range(self.low, self.high + 1):
            y = self.at(10 ** power)
            drawing.line(LEFT, y, WIDTH - RIGHT, y, "grid")
            drawing.text(LEFT - 8, y + 4, f"{10 ** power:g}", "end")
        drawing.text(14, TOP - 10, unit)

    def at(self, value):
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.bottom - part * (self.bottom - self.top)


def spread_labels(labels, step=16):
    """Moves labels (y, text, colour) apart so that none hides another."""
    labels.sort()
    for index in range(1, len(labels)):
        above = labels[index - 1][0]
        if labels[index][0] < above + step:
            labels[index] = (above + step, *labels[index][1:])
    return labels


def draw_depths(walks, path):
    series = {}
    depths = sorted({int(key[5]) for key in walks.cells})
    for walker in COLOURS:
        points = [(depth, cell_of(walks, walker, "repeated", depth)) for depth in depths]
        points = [(depth, cell["ns"] / cell["frames"]) for depth, cell in points if cell]
        if points:
            series[walker] = points
    if not series:
        return
    drawing = Drawing("ns a frame over depth, a stack walked again and again")
    values = [value for points in series.values() for _, value in points]
    axis = LogAxis(drawing, min(values), max(values), "ns a frame")
    span = math.log(depths[-1] / depths[0]) or 1

    def across(depth):
        return LEFT + math.log(depth / depths[0]) / span * (WIDTH - LEFT - RIGHT)

    for depth in depths:
        drawing.text(across(depth), drawing.height - BOTTOM + 20, str(depth), "middle")
    drawing.text((LEFT + WIDTH - RIGHT) / 2, drawing.height - 10, "frames", "middle")
    labels = []
    for walker, points in series.items():
        bold = walker.startswith("sp_")
        drawing.path([(across(depth), axis.at(value)) for depth, value in points], COLOURS[walker], bold)
        labels.append((axis.at(points[-1][1]) + 4, walker, COLOURS[walker]))
    for y, walker, colour in spread_labels(labels):
        drawing.bar(WIDTH - RIGHT + 12, y - 9, 10, 10, colour)
        drawing.text(WIDTH - RIGHT + 27, y, walker)
    drawing.save(path)


def draw_bars(title, unit, groups, colours, path, axis_of):
    """groups: (name, [(series, value, low, high)]); low and high may be None."""
    drawing = Drawing(title)
    axis = axis_of(drawing)
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    for number, (name, bars) in enumerate(groups):
        x = LEFT + number * room + room * 0.1
        width = room * 0.8 / max(len(bars), 1)
        for series, value, low, high in bars:
            y, zero = axis.at(value), axis.zero if hasattr(axis, "zero") else axis.bottom
            drawing.bar(x, min(y, zero), width * 0.9, abs(zero - y), colours[series])
            if low is not None:
                drawing.whisker(x + width * 0.45, axis.at(low), axis.at(high))
            x += width
        drawing.text(LEFT + (number + 0.5) * room, drawing.height - BOTTOM + 20, name, "middle")
    y = TOP + 20
    for series, colour in colours.items():
        drawing.bar(WIDTH - RIGHT + 12, y - 9, 10, 10, colour)
        drawing.text(WIDTH - RIGHT + 27, y, BUILD_NAMES.get(series, series))
        y += 18
    drawing.text(14, TOP - 10, unit)
    drawing.save(path)


def draw_states(walks, path):
    shown = ("frame pointers", "sp_backtrace", "sp_backtrace, half and half", "sp_backtrace, no plugin",
             "unw_backtrace", "glibc backtrace")
    groups = []
    for state in STATES:
        bars = []
        for walker in shown:
            cell = cell_of(walks, walker, state, 100)
            if cell:
                bars.append((walker, *(cell[value] / cell["frames"] for value in ("ns", "ns_q1", "ns_q3"))))
        groups.append(("never seen" if state == "never" else state, bars))
    values = [value for _, bars in groups for bar in bars for value in bar[1:]]
    if not values:
        return
    draw_bars("ns a frame, 100 frames, by what was walked before", "", groups,
              {walker: COLOURS[walker] for walker in shown}, path,
              lambda drawing: LogAxis(drawing, min(values), max(values), "ns a frame"))


class LinearAxis:
    """Percents on a vertical axis that shows zero."""

    def __init__(self, drawing, low, high):
        step = next(step for step in (0.5, 1, 2, 5, 10, 20) if (high - low) / step <= 9)
        self.low, self.high = math.floor(low / step) * step, math.ceil(high / step) * step
        self.top, self.bottom = TOP, drawing.height - BOTTOM
        mark = self.low
        while mark <= self.high + step / 2:
            drawing.line(LEFT, self.at(mark), WIDTH - RIGHT, self.at(mark), "grid")
            drawing.text(LEFT - 8, self.at(mark) + 4, f"{mark:+g} %" if mark else "0", "end")
            mark += step
        self.zero = self.at(0)

    def at(self, value):
        return self.bottom - (value - self.low) / (self.high - self.low) * (self.bottom - self.top)


def draw_overhead(overhead, measure, title, path):
    groups = []
    for program in [*overhead.programs, "mean"]:
        bars = []
        for build in BUILD_COLOURS:
            ratio = overhead.mean(build, measure) if program == "mean" else overhead.ratio(program, build, measure)
            spread = overhead.spread(program, build, measure) or (None, None)
            if ratio:
                bars.append((build, *((value - 1) * 100 if value else None for value in (ratio, *spread))))
        groups.append((program, bars))
    values = [value for _, bars in groups for bar in bars for value in bar[1:] if value is not None]
    if values:
        draw_bars(title, "", groups, BUILD_COLOURS, path,
                  lambda drawing: LinearAxis(drawing, min(0, *values), max(0, *values)))


def main():
    results, plots = map(pathlib.Path, sys.argv[1:])
    draw_depths(Walks(results / "sweep.csv"), plots / "depth.svg")
    draw_states(Walks(results / "walk.csv"), plots / "states.svg")
    overhead = Overhead(results / "overhead.csv", results / "times.csv")
    if overhead.programs:
        draw_overhead(overhead, "instructions", "Instructions more than the plain -O2 build's", plots / "instructions.svg")
        draw_overhead(overhead, "time", "Time more than the plain -O2 build's", plots / "time.svg")


if __name__ == "__main__":
    main()
