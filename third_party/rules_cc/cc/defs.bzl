"""Stands in for rules_cc, whose Debian version is too new for Debian's Bazel: hands on the native rules."""

cc_library = native.cc_library
cc_binary = native.cc_binary
cc_test = native.cc_test
cc_import = native.cc_import
cc_proto_library = native.cc_proto_library
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
cc_toolchain_alias = native.cc_toolchain_alias
fdo_prefetch_hints = native.fdo_prefetch_hints
fdo_profile = native.fdo_profile
objc_library = native.objc_library

def cc_flags_supplier(**kwargs):
    native.filegroup(name = kwargs["name"])

def compiler_flag(**kwargs):
    native.filegroup(name = kwargs["name"])
