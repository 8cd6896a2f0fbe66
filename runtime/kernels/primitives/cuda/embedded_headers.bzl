"""Files as texts of a program."""

def embedded_headers(name, headers):
    """The source NAME.cc, which implements embedded_headers.h for `headers`: labels of files by the
    names under which they are included."""
    labels = headers.values()
    entries = "".join([
        "printf '{\"%s\", R\"TESSERA(' '%s'; cat $(location %s); echo ')TESSERA\"},';" %
        ("%s", included_as, label)
        for included_as, label in headers.items()
    ])
    native.genrule(
        name = name + "_source",
        srcs = labels,
        outs = [name + ".cc"],
        cmd = "(echo '#include \"%s/embedded_headers.h\"';" % native.package_name() +
              "echo 'namespace tessera::cuda {';" +
              "echo 'constexpr EmbeddedHeader kHeaders[] = {';" + entries + "echo '};';" +
              "echo 'absl::Span<const EmbeddedHeader> EmbeddedHeaders() { return kHeaders; }';" +
              "echo '}') > $@",
    )
