"""Settings that hold for every test."""

import os

# The tests compile hundreds of small programs and run each of them briefly: compiling fast matters
# more than running fast. Must be set before JAX is imported.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1 "
    "--xla_backend_optimization_level=0",
)
