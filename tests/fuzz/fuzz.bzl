"""A fuzz target: NAME.cc with LLVMFuzzerTestOneInput(), linked with libFuzzer.

Built by `bazel build --config=fuzz` only, hence manual: it needs clang.
"""

def cc_fuzzer(name, deps):
    native.cc_binary(
        name = name,
        testonly = True,
        srcs = [name + ".cc"],
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],
        deps = deps,
    )
