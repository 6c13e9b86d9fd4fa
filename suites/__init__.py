"""The benchmark suite: importable by asv alone, in environments that hold no stepwatch."""
