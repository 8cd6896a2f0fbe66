#include "serving/commands/inspect_command.h"

#include <cstdio>
#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/session/inspect.h"
#include "serving/commands/inspection_json.h"
#include "serving/commands/inspection_text.h"
#include "serving/servables/saved_model/serving_session.h"
#include "serving/server/op_libraries.h"

namespace tessera::serving {
namespace {

struct Options {
  bool list_ops = false;
  bool json = false;
  std::string op_library;
};

absl::Status PrintInspection(const std::string& path, const Options& options) {
  RETURN_IF_ERROR(LoadOpLibraries(options.op_library).status());
  ASSIGN_OR_RETURN(const Inspection inspection, Inspect(path, ServingSessionOptions()));
  const std::string text =
      options.json ? InspectionJson(inspection) : InspectionText(inspection, options.list_ops);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return Usability(inspection);
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
          "succeeds.\n\n"
          "Ends with exit code 1 if a SavedModel does not load, or if an op has no kernel.",
      .examples = {{"tessera inspect /models/resnet/3", "Signatures, ops and variables."},
                   {"tessera inspect --json /models/resnet/3", "The same for a program."}},
  };
  command.flags.Add("ops", &options->list_ops, "list every op, with how often it occurs");
  command.flags.Add("json", &options->json, "print everything as one JSON object");
  command.flags.Add("op_library", &options->op_library,
                    "comma-separated shared libraries with custom ops to load first", "FILE");
  command.run = [options](absl::Span<const std::string> arguments) {
    return PrintInspection(arguments[0], *options);
  };
  return command;
}

}  // namespace tessera::serving
