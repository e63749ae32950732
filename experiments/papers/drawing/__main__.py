"""Reads a figure and its style as JSON from standard input; writes the file to standard output."""

from __future__ import annotations

import json
import sys

from experiments.papers.drawing.figure import draw_figure
from experiments.papers.figure_style import FigureStyle

if __name__ == "__main__":
    request = json.load(sys.stdin)
    style = FigureStyle(**request["style"])
    answer = draw_figure(request["figure"], request["legend"], style, request["form"], request["caption"])
    sys.stdout.buffer.write(answer)
