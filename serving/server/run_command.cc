#include "serving/server/run_command.h"

#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/session/saved_model.h"
#include "serving/frontend/json_predict_request.h"
#include "serving/frontend/json_response.h"
#include "serving/frontend/json_writer.h"
#include "serving/server/npy_file.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"  // SavedModelBundle owns one

namespace tessera::serving {
namespace {

constexpr char kHelp[] =
    "usage: tessera run DIR --input NAME=VALUE... [--signature=NAME] [--tags=TAGS] [--json]\n"
    "\n"
    "Runs a signature of the SavedModel in DIR once, and prints its outputs.\n"
    "\n"
    "  --input NAME=VALUE  an input of the signature. VALUE is JSON ('[[1, 2]]', '\"text\"',\n"
    "                      '{\"b64\": \"...\"}' for bytes), @FILE.json, or @FILE.npy\n"
    "  --signature=NAME    which one (serving_default)\n"
    "  --tags=A,B          of the meta graph (serve)\n"
    "  --json              prints {\"outputs\": ...} as the REST API does\n"
    "  --help              this text\n"
    "\n"
    "`tessera inspect DIR` lists signatures with their inputs.\n";

struct Arguments {
  std::string directory;
  std::string signature = "serving_default";
  std::set<std::string> tags = {"serve"};
  std::vector<std::pair<std::string, std::string>> inputs;
  bool json = false;
  bool help = false;
};

absl::StatusOr<Arguments> Parse(absl::Span<const std::string> args) {
  Arguments result;
  for (size_t i = 0; i < args.size(); ++i) {
    absl::string_view arg = args[i];
    if (arg == "--help") {
      result.help = true;
      return result;
    }
    if (arg == "--json") {
      result.json = true;
    } else if (absl::ConsumePrefix(&arg, "--signature=")) {
      result.signature = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--tags=")) {
      result.tags = absl::StrSplit(arg, ',', absl::SkipEmpty());
    } else if (arg == "--input" || absl::ConsumePrefix(&arg, "--input=")) {
      if (arg == "--input") {
        if (++i == args.size()) return absl::InvalidArgumentError("--input lacks NAME=VALUE");
        arg = args[i];
      }
      const std::vector<std::string> parts = absl::StrSplit(arg, absl::MaxSplits('=', 1));
      if (parts.size() != 2) {
        return absl::InvalidArgumentError(absl::StrCat("input '", arg, "' is not NAME=VALUE"));
      }
      result.inputs.emplace_back(parts[0], parts[1]);
    } else if (!absl::StartsWith(arg, "--") && result.directory.empty()) {
      result.directory = std::string(arg);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unknown argument '", arg, "'"));
    }
  }
  if (result.directory.empty()) return absl::InvalidArgumentError("no directory is given");
  return result;
}

absl::StatusOr<const Signature*> FindSignature(const SavedModelBundle& bundle,
                                               const std::string& name) {
  auto it = bundle.signatures.find(name);
  if (it != bundle.signatures.end()) return &it->second;
  std::vector<std::string> names;
  for (const auto& [there, signature] : bundle.signatures) names.push_back(there);
  return absl::NotFoundError(absl::StrCat("the model has no signature '", name,
                                          "' (there are: ", absl::StrJoin(names, ", "), ")"));
}

absl::StatusOr<Tensor> FromJson(const std::string& name, DType dtype, const std::string& json) {
  std::string body = "{\"inputs\": {";
  AppendJsonString(name, &body);
  absl::StrAppend(&body, ": ", json, "}}");
  const InputType type{name, dtype};
  PredictBody decoded;
  RETURN_IF_ERROR(DecodePredictBody(
      body,
      [&](absl::string_view) -> absl::StatusOr<absl::Span<const InputType>> {
        return absl::MakeConstSpan(&type, 1);
      },
      &decoded));
  if (decoded.inputs.size() != 1) return absl::InvalidArgumentError("is no JSON value");
  return std::move(decoded.inputs[0].second);
}

absl::StatusOr<Tensor> ReadInput(const std::string& name, DType dtype, const std::string& value) {
  if (!absl::StartsWith(value, "@")) return FromJson(name, dtype, value);
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(value.substr(1)));
  return absl::EndsWith(value, ".npy") ? ParseNpy(bytes) : FromJson(name, dtype, bytes);
}

absl::StatusOr<std::vector<NamedTensor>> ReadInputs(const Arguments& arguments,
                                                    const Signature& signature) {
  std::map<std::string, Tensor> values = signature.defaults;
  for (const auto& [name, value] : arguments.inputs) {
    auto it = signature.inputs.find(name);
    if (it == signature.inputs.end()) {
      std::vector<std::string> names;
      for (const auto& [there, tensor] : signature.inputs) names.push_back(there);
      return absl::InvalidArgumentError(
          absl::StrCat("signature '", arguments.signature, "' has no input '", name,
                       "' (it takes: ", absl::StrJoin(names, ", "), ")"));
    }
    absl::StatusOr<Tensor> tensor = ReadInput(name, it->second.dtype, value);
    if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("input '", name, "': "));
    values[name] = *std::move(tensor);
  }
  std::vector<NamedTensor> feeds;
  for (const auto& [name, tensor] : signature.inputs) {
    auto it = values.find(name);
    if (it == values.end()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", name, "' (",
                                                     DTypeName(tensor.dtype),
                                                     tensor.shape.ToString(), ") is not given"));
    }
    feeds.emplace_back(tensor.tensor_name, it->second);
  }
  return feeds;
}

absl::Status Print(const Arguments& arguments, const Signature& signature,
                   const std::vector<Tensor>& outputs) {
  std::vector<NamedOutput> named;
  size_t i = 0;
  for (const auto& [name, tensor] : signature.outputs) named.push_back({name, outputs[i++]});
  std::string text;
  if (arguments.json) {
    RETURN_IF_ERROR(AppendPredictResponse(PredictLayout::kColumnar, named, &text));
    text += '\n';
  } else {
    constexpr int kMaxElements = 1000;
    for (const NamedOutput& output : named) {
      absl::StrAppend(&text, output.name, ": ", output.tensor.ToString(kMaxElements), "\n");
    }
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return absl::OkStatus();
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const SavedModelBundle bundle,
                   LoadSavedModel(arguments.directory, arguments.tags, SessionOptions()));
  ASSIGN_OR_RETURN(const Signature* signature, FindSignature(bundle, arguments.signature));
  ASSIGN_OR_RETURN(const std::vector<NamedTensor> feeds, ReadInputs(arguments, *signature));
  std::vector<std::string> fetches;
  for (const auto& [name, tensor] : signature->outputs) fetches.push_back(tensor.tensor_name);
  std::vector<Tensor> outputs;
  RETURN_IF_ERROR(bundle.session->Run(feeds, fetches, {}, &outputs));
  return Print(arguments, *signature, outputs);
}

}  // namespace

int RunCommand(absl::Span<const std::string> args) {
  const absl::StatusOr<Arguments> arguments = Parse(args);
  if (!arguments.ok()) {
    std::fprintf(stderr, "tessera run: %s\n%s", std::string(arguments.status().message()).c_str(),
                 kHelp);
    return 2;
  }
  if (arguments->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  const absl::Status status = Run(*arguments);
  if (!status.ok()) {
    std::fprintf(stderr, "tessera run: %s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}

}  // namespace tessera::serving
