#include "serving/commands/inspect_command.h"

#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status.h"
#include "runtime/session/inspect.h"
#include "serving/servables/saved_model/serving_session.h"
#include "serving/server/op_libraries.h"

namespace tessera::serving {
namespace {

constexpr absl::string_view kOpLibrary = "--op_library=";
constexpr char kHelp[] =
    "usage: tessera inspect PATH [OPTIONS]\n"
    "\n"
    "Prints what is in a SavedModel (a directory with saved_model.pb), a checkpoint (its prefix "
    "or\n"
    "its directory) or a GraphDef (a file, .pbtxt if it is text): signatures with types and "
    "shapes,\n"
    "ops that no kernel runs, with their nodes, variables with their sizes, and assets. Loads a\n"
    "SavedModel as a server does, and says whether that succeeds.\n"
    "\n"
    "  --ops                   lists every op, with how often it occurs\n"
    "  --op_library=A.so,B.so  shared libraries with custom ops\n"
    "  --help                  this text\n";

absl::StatusOr<std::string> Describe(const std::string& path, const std::string& op_library,
                                     const InspectOptions& options) {
  RETURN_IF_ERROR(LoadOpLibraries(op_library).status());
  return Inspect(path, options);
}

}  // namespace

int InspectCommand(absl::Span<const std::string> args) {
  InspectOptions options;
  options.session = ServingSessionOptions();
  std::string path;
  std::string op_library;
  for (const std::string& arg : args) {
    if (arg == "--help") {
      std::fputs(kHelp, stdout);
      return 0;
    }
    if (arg == "--ops") {
      options.list_ops = true;
    } else if (absl::StartsWith(arg, kOpLibrary)) {
      op_library = arg.substr(kOpLibrary.size());
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
  const absl::StatusOr<std::string> text = Describe(path, op_library, options);
  if (!text.ok()) {
    std::fprintf(stderr, "tessera inspect: %s\n", text.status().ToString().c_str());
    return 1;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace tessera::serving
