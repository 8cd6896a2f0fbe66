#include "serving/commands/run_command.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "serving/commands/local_model.h"
#include "serving/commands/output_text.h"
#include "serving/commands/signature_inputs.h"

namespace tessera::serving {
namespace {

struct Options {
  InputFlags inputs;
  LocalModelFlags model;
  std::string signature = std::string(kDefaultSignature);
  std::vector<std::string> outputs;  // empty: all
  bool json = false;
};

absl::Status Run(const std::string& directory, const Options& options) {
  ASSIGN_OR_RETURN(const LocalModel model,
                   LoadLocalModel(directory, options.signature, options.model));
  using Values = std::map<std::string, Tensor>;
  ASSIGN_OR_RETURN(const Values inputs, ReadInputs(options.inputs, model.signature));
  std::vector<absl::string_view> names;
  std::vector<Tensor> values;
  for (const auto& [name, value] : inputs) {
    names.push_back(name);
    values.push_back(value);
  }
  const auto input = [&](size_t i) -> absl::StatusOr<Tensor> { return values[i]; };
  PredictResult result;
  const std::vector<absl::string_view> outputs(options.outputs.begin(), options.outputs.end());
  const absl::Status status = model.servable->Predict({.signature_name = options.signature,
                                                       .input_names = names,
                                                       .input = input,
                                                       .output_filter = outputs},
                                                      {}, &result);
  // Why a queue has no more for the run, the threads that filled it know better.
  if (!status.ok() && model.queues != nullptr) {
    RETURN_IF_ERROR(Annotate(model.queues->status(), "the graph's own data: "));
  }
  RETURN_IF_ERROR(status);
  return PrintOutputs(result.outputs, options.json);
}

}  // namespace

Command RunCommand() {
  auto options = std::make_shared<Options>();
  Command command{
      .name = "run",
      .summary = "run one signature of a SavedModel once",
      .arguments = "DIR",
      .description =
          "Loads the SavedModel in DIR as a server does, runs a signature of it once, and prints "
          "its outputs. `tessera inspect DIR` lists signatures with their inputs. The queue "
          "runners "
          "of a graph of TF1 fill the queues from which it reads its data.",
      .examples = {{"tessera run /models/half_plus_two/1 --input 'x=[1, 2, 5]'",
                    "Values on the command line."},
                   {"tessera run /models/resnet/3 --input images=@batch.npy --json",
                    "An array that numpy saved; the answer as JSON."}},
  };
  options->inputs.AddTo(&command.flags);
  command.flags.Add("signature", &options->signature, "signature to run", "NAME");
  command.flags.Add("output", &options->outputs, "output to print instead of all", "NAME");
  command.flags.Add("json", &options->json, "print {\"outputs\": ...} as the REST API does");
  options->model.AddTo(&command.flags);
  command.run = [options](absl::Span<const std::string> arguments) {
    return Run(arguments[0], *options);
  };
  return command;
}

}  // namespace tessera::serving
