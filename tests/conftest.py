"""Settings for all tests: generated examples are the same in every run, and no test is timed."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "quietrank", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("quietrank")
