"""stepwatch: which release made the training step slower, with a stated error rate."""

__version__ = "0.1.0"
