"""A kernel file as a library, and a family of them as one."""

# For files whose inner loops are to be vectorised: the compiler weighs each loop, comparisons and
# roots need not keep errno and traps, and integers wrap.
LOOP_COPTS = ["-ftree-vectorize"] + select({
    "//third_party:clang": [],  # weighs loops by itself
    "//conditions:default": ["-fvect-cost-model=dynamic"],
}) + [
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
]

def kernel_library(name, deps = [], copts = [], hdrs = [], primitives = []):
    """NAME.cc, whose kernels are registered in every binary that links it.

    `primitives` names the contracts in //runtime/kernels/primitives that it includes. The CPU's
    implementations are linked in with them; no kernel includes those.
    """
    native.cc_library(
        name = name,
        srcs = [name + ".cc"],
        hdrs = hdrs,
        copts = copts,
        alwayslink = 1,
        deps = deps + [
            "//runtime/kernels/primitives:" + primitive
            for primitive in primitives
        ] + [
            "//runtime/kernels/primitives/cpu:" + primitive
            for primitive in primitives
        ] + [
            "//runtime/base:status",
            "//runtime/framework:kernel",
            "//runtime/tensor",
        ],
    )

def kernel_family(name):
    """Links all kernels of a package. Stands last in its BUILD file, as it sees what is above it."""
    native.cc_library(
        name = name,
        visibility = [
            "//runtime/kernels:__pkg__",
            # For tests.
            "//tests/fuzz:__pkg__",
        ],
        deps = sorted([
            ":" + rule
            for rule, attributes in native.existing_rules().items()
            if attributes["kind"] == "cc_library" and attributes["alwayslink"]
        ]),
    )
