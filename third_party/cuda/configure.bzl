"""Finds the CUDA toolkit of this machine: in CUDA_HOME, or else in /usr/local/cuda."""

# Whatever is compiled with the toolkit asks for this first.
_NO_TOOLKIT = """
package(default_visibility = ["//visibility:public"])

genrule(
    name = "missing",
    outs = ["missing.h"],
    cmd = "echo '--config=cuda needs the CUDA toolkit: there is no {home}/bin/nvcc." +
          " Install it, or set CUDA_HOME.' >&2; exit 1",
)

cc_library(
    name = "headers",
    hdrs = ["missing.h"],
)

cc_library(
    name = "runtime",
    deps = [":headers"],
)
"""

def _configure(ctx):
    home = ctx.os.environ.get("CUDA_HOME", "") or "/usr/local/cuda"
    nvcc = ctx.path(home + "/bin/nvcc")
    if not nvcc.exists:
        ctx.file("BUILD", _NO_TOOLKIT.format(home = home))
        ctx.file("toolkit.bzl", "NVCC = None\nNVCC_VERSION = None\n")
        return
    version = ctx.execute([nvcc, "--version"])
    if version.return_code != 0:
        fail("%s --version: %s" % (nvcc, version.stderr))
    ctx.symlink(home + "/include", "include")
    ctx.symlink(home + "/lib64", "lib64")
    ctx.symlink(ctx.attr.build_file, "BUILD")

    # The version makes objects of another compiler at the same path objects of their own.
    ctx.file("toolkit.bzl", "NVCC = %r\nNVCC_VERSION = %r\n" % (
        str(nvcc),
        version.stdout.strip().split("\n")[-1],
    ))

cuda_configure = repository_rule(
    implementation = _configure,
    attrs = {"build_file": attr.label(default = "//third_party:cuda.BUILD")},
    doc = "Does nothing on a machine without the toolkit.",
    environ = ["CUDA_HOME"],
    configure = True,
    local = True,
)
