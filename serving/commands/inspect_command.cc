#include "serving/commands/inspect_command.h"

#include <cstdio>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/session/inspect.h"
#include "serving/servables/saved_model/serving_session.h"
#include "serving/server/op_libraries.h"

namespace tessera::serving {
namespace {

struct Options {
  InspectOptions inspect{.session = ServingSessionOptions()};
  std::string op_library;
};

absl::Status PrintInspection(const std::string& path, const Options& options) {
  RETURN_IF_ERROR(LoadOpLibraries(options.op_library).status());
  ASSIGN_OR_RETURN(const std::string text, Inspect(path, options.inspect));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

Command InspectCommand() {
  auto options = std::make_shared<Options>();
  Command command{
      .name = "inspect",
      .summary = "show what is in a SavedModel, a GraphDef or a checkpoint",
      .arguments = "PATH",
      .description =
          "Prints what is in a SavedModel (a directory with saved_model.pb), a checkpoint (its "
          "prefix or its directory) or a GraphDef (a file, .pbtxt if it is text): signatures with "
          "types and shapes, ops that no kernel runs, with their nodes, variables with their "
          "sizes, and assets. Loads a SavedModel as a server does, and says whether that "
          "succeeds.",
      .examples = {{"tessera inspect /models/resnet/3", "Signatures, ops and variables."}},
  };
  command.flags.Add("ops", &options->inspect.list_ops, "list every op, with how often it occurs");
  command.flags.Add("op_library", &options->op_library,
                    "comma-separated shared libraries with custom ops to load first", "FILE");
  command.run = [options](absl::Span<const std::string> arguments) {
    return PrintInspection(arguments[0], *options);
  };
  return command;
}

}  // namespace tessera::serving
