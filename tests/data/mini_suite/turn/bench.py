"""Benchmarks of turn."""

from mini_suite import _session


class Mini:
    """One session, three metrics; nothing measures the last one."""

    version = "1"
    timeout = 20

    def setup_cache(self):
        return _session.session("turn.bench.Mini")

    def track_step_cpu(self, record):
        return _session.read("step_cpu", record)

    def track_loss(self, record):
        return _session.read("loss", record)

    def track_peak_device_bytes(self, record):
        return _session.read("peak_device_bytes", record)

    track_step_cpu.unit = "seconds"
    track_loss.unit = "1"
    track_peak_device_bytes.unit = "bytes"
    track_step_cpu.track = track_loss.track = track_peak_device_bytes.track = "mini"
