"""Renderers: a report in, text out. No files, no clock; everything in a report is treated as hostile."""

from stepwatch.render.calibration import render_calibration
from stepwatch.render.markdown import render_markdown
from stepwatch.render.text import render_text

__all__ = ["render_calibration", "render_markdown", "render_text"]
