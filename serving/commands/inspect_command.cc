#include "serving/commands/inspect_command.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "runtime/base/status.h"
#include "runtime/session/inspect.h"
#include "serving/commands/inspection_json.h"
#include "serving/commands/inspection_text.h"
#include "serving/commands/kernel_times.h"
#include "serving/commands/trial_load.h"
#include "serving/server/op_libraries.h"

namespace tessera::serving {
namespace {

struct Options {
  bool list_ops = false;
  bool json = false;
  std::string op_library;
};

// Measures the first meta graph that loads; nothing if there is none.
absl::StatusOr<std::optional<KernelTimes>> TimeKernels(const Inspection& inspection) {
  for (const InspectedMetaGraph& meta_graph : inspection.meta_graphs) {
    if (!meta_graph.load.ok()) continue;
    return MeasureKernels(inspection.path, {meta_graph.tags.begin(), meta_graph.tags.end()});
  }
  return std::optional<KernelTimes>();
}

absl::Status PrintInspection(const std::string& path, const Options& options) {
  RETURN_IF_ERROR(LoadOpLibraries(options.op_library).status());
  const auto load = [](const std::string& directory, const std::set<std::string>& tags) {
    return TrialLoad(directory, tags);
  };
  ASSIGN_OR_RETURN(const Inspection inspection, Inspect(path, load));
  std::optional<KernelTimes> times;
  if (options.list_ops) {
    ASSIGN_OR_RETURN(times, TimeKernels(inspection));
  }
  std::string text;
  if (options.json) {
    text = InspectionJson(inspection, times ? &*times : nullptr);
  } else {
    text = InspectionText(inspection, options.list_ops);
    if (times) text += KernelTimesText(*times);
  }
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
          "sizes, and assets. Loads a SavedModel as a server does, with the requests that warm it "
          "up, those it has recorded or zeros, and says whether that succeeds. Zeros are not sent "
          "to signatures that would change the model.\n\n"
          "With --ops it makes these requests again, and prints which kernels ran, on which "
          "device, with which dtype, and which share of the time each took.\n\n"
          "Ends with exit code 1 if a SavedModel does not load, or if an op has no kernel.",
      .examples = {{"tessera inspect /models/resnet/3", "Signatures, ops and variables."},
                   {"tessera inspect --ops /models/resnet/3",
                    "And where its time goes, kernel by kernel."},
                   {"tessera inspect --json /models/resnet/3", "The same for a program."}},
  };
  command.flags.Add("ops", &options->list_ops,
                    "list every op with its count and dtypes, and the time of each kernel");
  command.flags.Add("json", &options->json, "print everything as one JSON object");
  command.flags.Add("op_library", &options->op_library,
                    "comma-separated shared libraries with custom ops to load first", "FILE");
  command.run = [options](absl::Span<const std::string> arguments) {
    return PrintInspection(arguments[0], *options);
  };
  return command;
}

}  // namespace tessera::serving
