"""The session protocol: how one fresh process builds, compiles, warms up and times one training step.

`session.py` tells the story from top to bottom; docs/explanation/session-protocol.md explains it. asv
imports every module below `suites/`, so none of them imports a framework at module top, and no function
here begins with one of asv's prefixes.
"""
