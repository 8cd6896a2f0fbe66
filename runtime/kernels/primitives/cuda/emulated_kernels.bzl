"""The GPU's kernels as a library of the host: see testing/emulation.h."""

load("//runtime/kernels:kernel_library.bzl", "LOOP_COPTS")

def emulated_kernels(name, srcs, cc_srcs, hdrs, deps):
    """`srcs` are .cu files; each is compiled as C++ for devices of type "EMULATED_GPU", as `cc_srcs`."""
    package = native.package_name()
    sources = []
    for src in srcs:
        source = name + "/" + src.replace(".cu", ".cc")
        native.genrule(
            name = source + "_source",
            testonly = 1,
            outs = [source],
            cmd = "echo '#include \"%s/%s\"' > $@" % (package, src),
        )
        sources.append(source)
    native.cc_library(
        name = name,
        testonly = 1,
        srcs = sources + cc_srcs + hdrs,
        # As nvcc compiles for the host: integers wrap around.
        copts = LOOP_COPTS + [
            "-include",
            package + "/testing/emulation.h",
        ],
        local_defines = ["TESSERA_EMULATED_CUDA"],
        textual_hdrs = srcs,
        alwayslink = 1,
        visibility = [
            "//runtime/kernels/primitives/cuda/testing:__pkg__",
            "//runtime/training/program:__pkg__",
            "//serving/commands:__pkg__",
            "//tests/conformance:__pkg__",
        ],
        deps = deps + [
            "//runtime/kernels/primitives/cuda/testing:emulation",
            "//runtime/kernels/primitives/cuda/testing:host_compiler",
            "//runtime/kernels/primitives/cuda/testing:library_stand_in",
            "//runtime/kernels/primitives/cuda/testing:no_product_library",
        ],
    )
