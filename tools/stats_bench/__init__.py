"""`make stats-bench`: the statistics of stepwatch and of its peers, measured side by side."""
