"""Settings that hold for every test."""

import os

from hypothesis import settings

# The tests compile hundreds of small programs and run each of them briefly: compiling fast matters
# more than running fast. Must be set before JAX is imported.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1 "
    "--xla_backend_optimization_level=0",
)

# The same examples on every machine: a change turns the tests red, not the hour. To look for new
# ones: HYPOTHESIS_PROFILE=search make test.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
