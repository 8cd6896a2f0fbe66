#include "serving/commands/client_command.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "serving/commands/client/model_client.h"
#include "serving/commands/output_text.h"
#include "serving/commands/signature_inputs.h"
#include "serving/commands/text_column.h"
#include "serving/frontend/json/json_writer.h"

namespace tessera::serving {
namespace {

namespace wire = ::tensorflow::serving;

constexpr absl::Duration kPollInterval = absl::Milliseconds(500);

struct Options {
  InputFlags inputs;
  ServerFlags server;
  std::vector<std::string> outputs;
  bool json = false;
  bool follow = false;
};

// Keeps the outputs that are asked for, in that order. The whole answer is small beside the
// connection that it came by, and REST cannot ask for less.
absl::StatusOr<ModelCodec::Outputs> Select(const ModelCodec::Outputs& outputs,
                                           const std::vector<std::string>& names) {
  if (names.empty()) return outputs;
  ModelCodec::Outputs selected;
  for (const std::string& name : names) {
    const auto found = absl::c_find_if(outputs, [&](const auto& o) { return o.first == name; });
    if (found == outputs.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the answer has no output '", name, "' (there are: ",
          absl::StrJoin(outputs, ", ", [](std::string* out, const auto& o) { *out += o.first; }),
          ")"));
    }
    selected.push_back(*found);
  }
  return selected;
}

absl::Status Predict(const ModelClient& client, const Options& options) {
  ASSIGN_OR_RETURN(const RemoteSignature signature, client.Signature());
  using Values = std::map<std::string, Tensor>;
  ASSIGN_OR_RETURN(const Values inputs, ReadInputs(options.inputs, signature.inputs));
  ASSIGN_OR_RETURN(ModelCodec::Outputs outputs, client.Predict(inputs, signature));
  ASSIGN_OR_RETURN(outputs, Select(outputs, options.outputs));
  std::vector<NamedOutput> named;
  for (const auto& [name, tensor] : outputs) named.push_back({name, tensor});
  return PrintOutputs(named, options.json);
}

// What is shown of the versions of a model: "AVAILABLE", or a state with its error.
using States = std::map<int64_t, std::string>;

absl::StatusOr<States> ReadStates(const ModelClient& client) {
  ASSIGN_OR_RETURN(const wire::GetModelStatusResponse response, client.Status());
  States states;
  for (const auto& version : response.model_version_status()) {
    std::string& text = states[version.version()];
    text = wire::ModelVersionStatus::State_Name(version.state());
    if (version.status().error_code() != 0) {
      absl::StrAppend(&text, ": ", version.status().error_message());
    }
  }
  return states;
}

absl::Status PrintStatus(const ModelClient& client, const Options& options) {
  ASSIGN_OR_RETURN(const States states, ReadStates(client));
  if (!options.json) {
    for (const auto& [version, state] : states) {
      absl::PrintF("version %d: %s\n", version, state);
    }
    return absl::OkStatus();
  }
  std::string text;
  JsonWriter json(&text);
  json.StartObject();
  for (const auto& [version, state] : states) {
    json.Key(absl::StrCat(version));
    json.String(state);
  }
  json.EndObject();
  std::puts(text.c_str());
  return absl::OkStatus();
}

void PrintEvent(absl::string_view text) {
  absl::PrintF("%s %s\n", absl::FormatTime("%H:%M:%S", absl::Now(), absl::LocalTimeZone()), text);
  std::fflush(stdout);
}

// Prints each change of a state, until the process is told to end. A server that goes away is
// waited for.
absl::Status FollowStatus(const ModelClient& client) {
  ASSIGN_OR_RETURN(States shown, ReadStates(client));
  for (const auto& [version, state] : shown) {
    PrintEvent(absl::StrCat("version ", version, ": ", state));
  }
  std::string last_error;
  while (true) {
    absl::SleepFor(kPollInterval);
    const absl::StatusOr<States> states = ReadStates(client);
    if (!states.ok()) {
      if (last_error.empty()) PrintEvent(states.status().ToString());
      last_error = states.status().ToString();
      continue;
    }
    last_error.clear();
    for (const auto& [version, state] : *states) {
      const auto before = shown.find(version);
      if (before != shown.end() && before->second == state) continue;
      PrintEvent(absl::StrCat("version ", version, ": ", state));
    }
    for (const auto& [version, state] : shown) {
      if (states->count(version) == 0) PrintEvent(absl::StrCat("version ", version, ": forgotten"));
    }
    shown = *states;
  }
}

void AppendTensors(absl::string_view kind, const std::map<std::string, TensorInfo>& tensors,
                   std::string* text) {
  size_t width = 0;
  for (const auto& [name, info] : tensors) width = std::max(width, WidthOf(name));
  for (const auto& [name, info] : tensors) {
    absl::StrAppendFormat(text, "    %-6s  %s  %s %s\n", kind, Padded(name, width),
                          DTypeName(info.dtype), info.shape.ToString());
  }
}

void WriteTensors(const char* key, const std::map<std::string, TensorInfo>& tensors,
                  JsonWriter& json) {
  json.Key(key);
  json.StartObject();
  for (const auto& [name, info] : tensors) {
    json.Key(name);
    json.StartObject();
    json.Key("dtype");
    json.String(DTypeName(info.dtype));
    json.Key("shape");
    json.String(info.shape.ToString());
    json.EndObject();
  }
  json.EndObject();
}

absl::Status PrintMetadata(const ModelClient& client, const Options& options) {
  ASSIGN_OR_RETURN(const ModelMetadata metadata, client.Metadata());
  std::string text;
  if (options.json) {
    JsonWriter json(&text);
    json.StartObject();
    json.Key("version");
    json.Number(metadata.version);
    json.Key("signatures");
    json.StartObject();
    for (const auto& [name, signature] : metadata.signatures) {
      json.Key(name);
      json.StartObject();
      json.Key("method_name");
      json.String(signature.method_name);
      WriteTensors("inputs", signature.inputs.inputs, json);
      WriteTensors("outputs", signature.outputs, json);
      json.EndObject();
    }
    json.EndObject();
    json.EndObject();
    text += '\n';
  } else {
    absl::StrAppend(&text, "version ", metadata.version, "\n");
    for (const auto& [name, signature] : metadata.signatures) {
      absl::StrAppend(&text, "  signature ", name, " (", signature.method_name, ")\n");
      AppendTensors("input", signature.inputs.inputs, &text);
      AppendTensors("output", signature.outputs, &text);
    }
  }
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

absl::Status Run(const std::string& action, const std::string& model, const Options& options) {
  ASSIGN_OR_RETURN(const ModelClient client, ModelClient::Create(options.server, model));
  if (action == "predict") return Predict(client, options);
  if (action == "metadata") return PrintMetadata(client, options);
  return options.follow ? FollowStatus(client) : PrintStatus(client, options);
}

}  // namespace

Command ClientCommand() {
  auto options = std::make_shared<Options>();
  Command command{
      .name = "client",
      .summary = "ask a running server: predictions, states of versions, signatures",
      .arguments = "predict|status|metadata MODEL",
      .description =
          "predict asks a model for its outputs; types and shapes of the inputs come from the "
          "server. status shows the versions of a model and their states, with --follow each "
          "change as it happens. metadata shows the signatures of a version. All work with any "
          "server that speaks TensorFlow Serving's protocols.",
      .examples = {{"tessera client predict digits --input image=@seven.png --output label",
                    "A picture, brought to the size that the model takes."},
                   {"tessera client predict half_plus_two --rest --input 'x=[1, 2, 5]' --json",
                    "By REST; the answer as JSON."},
                   {"tessera client status digits --follow", "Each change of a version's state."}},
  };
  options->inputs.AddTo(&command.flags);
  command.flags.Add("output", &options->outputs, "output to print instead of all", "NAME");
  command.flags.Add("json", &options->json, "print JSON");
  command.flags.Add("follow", &options->follow, "go on, and print changes of states");
  options->server.AddTo(&command.flags);
  command.run = [options](absl::Span<const std::string> arguments) {
    return Run(arguments[0], arguments[1], *options);
  };
  return command;
}

}  // namespace tessera::serving
