#include "serving/server/inspect_command.h"

#include <cstdio>

#include "absl/strings/match.h"
#include "runtime/session/inspect.h"

namespace tessera::serving {
namespace {

constexpr char kHelp[] =
    "usage: tessera inspect PATH [--ops]\n"
    "\n"
    "Prints what is in a SavedModel (a directory with saved_model.pb), a checkpoint (its prefix "
    "or\n"
    "its directory) or a GraphDef (a file, .pbtxt if it is text): signatures with types and "
    "shapes,\n"
    "ops that no kernel runs, with their nodes, variables with their sizes, and assets.\n"
    "\n"
    "  --ops     lists every op, with how often it occurs\n"
    "  --help    this text\n";

}  // namespace

int InspectCommand(absl::Span<const std::string> args) {
  InspectOptions options;
  std::string path;
  for (const std::string& arg : args) {
    if (arg == "--help") {
      std::fputs(kHelp, stdout);
      return 0;
    }
    if (arg == "--ops") {
      options.list_ops = true;
    } else if (absl::StartsWith(arg, "--") || !path.empty()) {
      std::fprintf(stderr, "tessera inspect: unknown argument '%s'\n%s", arg.c_str(), kHelp);
      return 2;
    } else {
      path = arg;
    }
  }
  if (path.empty()) {
    std::fprintf(stderr, "tessera inspect: no path is given\n%s", kHelp);
    return 2;
  }
  const absl::StatusOr<std::string> text = Inspect(path, options);
  if (!text.ok()) {
    std::fprintf(stderr, "tessera inspect: %s\n", text.status().ToString().c_str());
    return 1;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace tessera::serving
