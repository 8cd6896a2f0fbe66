"""cuda_library: .cu files compiled by nvcc, as a library that cc_* rules link.

linked_only: a library whose headers stay with it.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@cuda//:toolkit.bzl", "NVCC", "NVCC_VERSION")

# For `target_compatible_with` of everything that includes a header of CUDA: without --config=cuda,
# `bazel build //...` passes over it.
ONLY_WITH_CUDA = select({
    "//third_party/cuda:enabled": [],
    "//conditions:default": ["//third_party/cuda:needs_config_cuda"],
})

# What the rest of the project is compiled with (.bazelrc), for the host's part of a .cu file.
_HOST_OPTIONS = [
    "-march=x86-64-v3",
    "-fno-omit-frame-pointer",
    "-Wall",
    "-Wno-sign-compare",
    "-Wno-maybe-uninitialized",
    "-Wno-unused-local-typedefs",
]

_OPTIONS = [
    "-std=c++20",
    "-O2",
    "-ccbin=g++",
    "--extended-lambda",
    "--expt-relaxed-constexpr",
    "-Werror=all-warnings",
    # Functors of all numbers ask unsigned ones for their sign.
    "-diag-suppress=186",
    # Eigen is wanted for the types that store elements, and warns if it is compiled for a GPU.
    "-DEIGEN_NO_CUDA",
    "-DNDEBUG",
    "-Xcompiler=" + ",".join(_HOST_OPTIONS),
]

def _code_of(architectures):
    """Machine code for each architecture, and PTX of the last, which newer GPUs compile."""
    options = ["-gencode=arch=compute_%s,code=sm_%s" % (a, a) for a in architectures]
    return options + ["-gencode=arch=compute_%s,code=compute_%s" % (architectures[-1], architectures[-1])]

def _cuda_library(ctx):
    if NVCC == None:
        fail("needs the CUDA toolkit, which is not on this machine")
    compiled = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    context = compiled.compilation_context
    architectures = ctx.var.get("cuda_architectures", "80,90,100").split(",")

    shared = ctx.actions.args()
    shared.add_all(_OPTIONS + _code_of(architectures) + ctx.attr.copts)
    shared.add_all(context.defines, format_each = "-D%s")
    shared.add("-I.")
    shared.add_all(context.includes, format_each = "-I%s")
    shared.add_all(context.quote_includes, format_each = "-I%s")
    shared.add_all(context.system_includes, before_each = "-isystem")

    # A change of one .cu file compiles that file alone.
    headers = [file for file in ctx.files.srcs + ctx.files.hdrs if file.extension != "cu"]
    objects = []
    for source in ctx.files.srcs:
        if source.extension != "cu":
            continue
        object = ctx.actions.declare_file("_objs/%s/%s.o" % (ctx.label.name, source.basename))
        ctx.actions.run(
            executable = NVCC,
            arguments = [shared, "-c", source.path, "-o", object.path],
            inputs = depset([source] + headers, transitive = [context.headers]),
            outputs = [object],
            env = {"NVCC_VERSION": NVCC_VERSION},
            use_default_shell_env = True,
            mnemonic = "CudaCompile",
            progress_message = "Compiling " + source.short_path,
        )
        objects.append(object)

    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    archive = ctx.actions.declare_file("lib%s.lo" % ctx.label.name)
    ctx.actions.run_shell(
        command = "rm -f $1 && ar rcsD $@",
        arguments = [archive.path] + [object.path for object in objects],
        inputs = objects,
        outputs = [archive],
        mnemonic = "CudaArchive",
    )
    library = cc_common.create_library_to_link(
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        static_library = archive,
        alwayslink = True,
    )
    linking = cc_common.create_linking_context(
        linker_inputs = depset([
            cc_common.create_linker_input(
                owner = ctx.label,
                libraries = depset([library]),
            ),
        ]),
    )
    own = cc_common.create_compilation_context(headers = depset(ctx.files.hdrs))
    return [
        DefaultInfo(files = depset([archive])),
        cc_common.merge_cc_infos(cc_infos = [
            CcInfo(compilation_context = own, linking_context = linking),
            compiled,
        ]),
    ]

_rule = rule(
    implementation = _cuda_library,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu", ".h", ".cuh"]),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def cuda_library(name, **kwargs):
    """`srcs` are .cu files, and headers of theirs alone; the rest is as in cc_library.

    All of it is linked in, for registrations. Architectures are those of --define
    cuda_architectures=80,90,100; host options are the project's.
    """
    _rule(
        name = name,
        target_compatible_with = ONLY_WITH_CUDA,
        deps = kwargs.pop("deps", []) + ["@cuda//:runtime"],
        **kwargs
    )

def _linked_only(ctx):
    infos = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    return [CcInfo(linking_context = infos.linking_context)]

_linked_only_rule = rule(
    implementation = _linked_only,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)

def linked_only(name, **kwargs):
    """Links `deps` into what depends on this, and gives it none of their headers.

    So the same command compiles those dependents with and without --config=cuda, and one build takes
    their objects from the other's cache.
    """
    _linked_only_rule(name = name, target_compatible_with = ONLY_WITH_CUDA, **kwargs)
