"""The libraries of which Debian has archives, and how a program links those."""

# All of absl: its own headers, gRPC's and protobuf's reach into most of it.
ABSL = [
    "bad_any_cast_impl",
    "bad_optional_access",
    "bad_variant_access",
    "base",
    "city",
    "civil_time",
    "cord",
    "cord_internal",
    "cordz_functions",
    "cordz_handle",
    "cordz_info",
    "cordz_sample_token",
    "debugging_internal",
    "demangle_internal",
    "examine_stack",
    "exponential_biased",
    "failure_signal_handler",
    "flags_commandlineflag",
    "flags_commandlineflag_internal",
    "flags_config",
    "flags_internal",
    "flags_marshalling",
    "flags_parse",
    "flags_private_handle_accessor",
    "flags_program_name",
    "flags_reflection",
    "flags_usage",
    "flags_usage_internal",
    "graphcycles_internal",
    "hash",
    "hashtablez_sampler",
    "int128",
    "leak_check",
    "log_severity",
    "low_level_hash",
    "malloc_internal",
    "periodic_sampler",
    "random_distributions",
    "random_internal_platform",
    "random_internal_pool_urbg",
    "random_internal_randen",
    "random_internal_randen_hwaes",
    "random_internal_randen_hwaes_impl",
    "random_internal_randen_slow",
    "random_internal_seed_material",
    "random_seed_gen_exception",
    "random_seed_sequences",
    "raw_hash_set",
    "raw_logging_internal",
    "spinlock_wait",
    "stacktrace",
    "status",
    "statusor",
    "str_format_internal",
    "strerror",
    "strings",
    "strings_internal",
    "symbolize",
    "synchronization",
    "throw_delegate",
    "time",
    "time_zone",
]

# gRPC with all below it but absl, and what else makes up most of the shared libraries that a program
# would load. TLS, oneDNN and ICU stay shared: the first for its updates, the others for their size.
_HIDDEN = [
    "grpc++_reflection",
    "grpc++",
    "grpc",
    "gpr",
    "upb",
    "address_sorting",
    "cares",
    "re2",
    "protobuf",
    "yaml-cpp",
    "snappy",
]

# For a program's own linkopts, which stand before those of its libraries: these archives define what
# is asked of the shared libraries named later, and the linker leaves those out. Looking up some
# 18,000 symbols in 69 shared libraries is most of what a process that serves a small model does
# before its first answer.
#
# The shared libraries stand in an order that makes look-ups short, because a symbol is looked for in one
# library after another: libcrypto and libstdc++ refer to more symbols of their own, 4,900, than all
# the others together. mimalloc must come before libstdc++, whose operator new it replaces.
#
# absl is linked whole, and shown to libraries of ops, which use it and link nothing. The others are
# not: a library of ops may bring its own protobuf.
STATIC_LINKOPTS = (
    ["-Wl,--whole-archive"] +
    ["-l:libabsl_%s.a" % name for name in ABSL if not name.startswith("flags_")] +
    ["-Wl,--no-whole-archive", "-Wl,--start-group"] +
    ["-l:lib%s.a" % name for name in _HIDDEN] +
    ["-Wl,--end-group"] +
    ["-Wl,--exclude-libs," + ":".join(["lib%s.a" % name for name in _HIDDEN])] +
    ["-Wl,--as-needed", "-lcrypto", "-lmimalloc", "-lstdc++", "-lm", "-lc", "-lssl"]
)
