"""Measuring: environments, sessions, campaigns, and the asv files written from them.

The only package that uses asv's Python API. `driver.run_campaign` is the way in; everything below it can
be used alone: `environments` builds, `session` runs one fresh process, `sidecar` and `asv_results` write.
"""
