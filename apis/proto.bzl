"""C++ code from .proto files by the system's protoc: one library for a set of files."""

def _stem(src):
    return src[:-len(".proto")]

def cc_proto_set(name, srcs, deps = [], visibility = None):
    """The messages of `srcs` (paths under apis/), included by those paths with .pb.h."""
    outs = [_stem(s) + ext for s in srcs for ext in (".pb.h", ".pb.cc")]
    native.genrule(
        name = name + "_gen",
        srcs = srcs + [d + "_srcs" for d in deps],
        outs = outs,
        cmd = "protoc -Iapis --cpp_out=$(RULEDIR) " + " ".join(["apis/" + s for s in srcs]),
    )
    native.filegroup(name = name + "_srcs", srcs = srcs + [d + "_srcs" for d in deps])
    native.cc_library(
        name = name,
        srcs = [o for o in outs if o.endswith(".cc")],
        hdrs = [o for o in outs if o.endswith(".h")],
        # Parsing is bound by memory; the hot parts are in the protobuf library. Saves a third of
        # the time to compile these.
        copts = ["-O1"],
        includes = ["."],
        visibility = visibility,
        deps = deps + ["@system//:protobuf"],
    )

def cc_grpc_set(name, srcs, protos, visibility = None):
    """The services of `srcs`, whose messages are in the cc_proto_set `protos`."""
    outs = [_stem(s) + ext for s in srcs for ext in (".grpc.pb.h", ".grpc.pb.cc")]
    native.genrule(
        name = name + "_gen",
        srcs = [protos + "_srcs"],
        outs = outs,
        cmd = "protoc -Iapis --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin --grpc_out=$(RULEDIR) " +
              " ".join(["apis/" + s for s in srcs]),
    )
    native.cc_library(
        name = name,
        srcs = [o for o in outs if o.endswith(".cc")],
        hdrs = [o for o in outs if o.endswith(".h")],
        copts = ["-O1"],
        includes = ["."],
        visibility = visibility,
        deps = [
            protos,
            "@system//:grpc",
        ],
    )
