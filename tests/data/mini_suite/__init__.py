"""A suite without frameworks: sessions of milliseconds that do what `control.json` beside it says."""
