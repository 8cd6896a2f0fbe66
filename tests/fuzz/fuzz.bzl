"""A fuzz target: NAME.cc with LLVMFuzzerTestOneInput().

The program NAME is linked with libFuzzer. It is built by `bazel build --config=fuzz` only, hence
manual: it needs clang. Inputs that once failed are kept in corpus/NAME, and the test
NAME_corpus_test, which any build has, runs all of them.
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
    corpus = native.glob(["corpus/%s/*" % name])
    if corpus:
        native.cc_test(
            name = name + "_corpus_test",
            size = "small",
            srcs = [
                "corpus_test.cc",
                name + ".cc",
            ],
            data = corpus,
            local_defines = ["FUZZ_CORPUS=\\\"tests/fuzz/corpus/%s\\\"" % name],
            deps = deps + [
                "//runtime/base:file_system",
                "@system//:gtest_main",
            ],
        )
