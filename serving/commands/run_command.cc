#include "serving/commands/run_command.h"

#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/host/host.h"
#include "runtime/session/numerics_name.h"
#include "runtime/session/saved_model.h"
#include "serving/commands/input_value.h"
#include "serving/frontend/json/json_response.h"
#include "serving/servables/saved_model/saved_model_servable.h"
#include "serving/servables/saved_model/serving_session.h"
#include "serving/server/op_libraries.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"  // SavedModelBundle owns one

namespace tessera::serving {
namespace {

constexpr char kHelp[] =
    "usage: tessera run DIR --input NAME=VALUE... [OPTIONS]\n"
    "\n"
    "Loads the SavedModel in DIR as a server does, runs a signature of it once, and prints its\n"
    "outputs.\n"
    "\n"
    "  --input NAME=VALUE      an input of the signature. VALUE is JSON ('[[1, 2]]', '\"text\"',\n"
    "                          '{\"b64\": \"...\"}' for bytes), @FILE.json, or @FILE.npy\n"
    "  --signature=NAME        which one (serving_default)\n"
    "  --tags=A,B              of the meta graph (serve)\n"
    "  --numerics=MODE         fast, or strict: a row has the same bits whatever its batch (fast)\n"
    "  --json                  prints {\"outputs\": ...} as the REST API does\n"
    "  --op_library=A.so,B.so  shared libraries with custom ops\n"
    "  --help                  this text\n"
    "\n"
    "`tessera inspect DIR` lists signatures with their inputs.\n";

struct Arguments {
  std::string directory;
  std::string signature = "serving_default";
  std::set<std::string> tags = {"serve"};
  std::map<std::string, std::string> inputs;
  std::string op_library;
  SessionOptions session = ServingSessionOptions();
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
    } else if (absl::ConsumePrefix(&arg, "--op_library=")) {
      result.op_library = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--numerics=")) {
      ASSIGN_OR_RETURN(result.session.numerics, ParseNumerics(arg));
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
      if (!result.inputs.emplace(parts[0], parts[1]).second) {
        return absl::InvalidArgumentError(absl::StrCat("input '", parts[0], "' is given twice"));
      }
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

// Returns the values of the inputs that are given. Errors: INVALID_ARGUMENT for a value or a name
// that does not fit, and for an input that is not given and has no default.
absl::StatusOr<std::map<std::string, Tensor>> ReadInputs(const Arguments& arguments,
                                                         const Signature& signature) {
  std::map<std::string, Tensor> values;
  for (const auto& [name, value] : arguments.inputs) {
    auto it = signature.inputs.find(name);
    if (it == signature.inputs.end()) {
      std::vector<std::string> names;
      for (const auto& [there, tensor] : signature.inputs) names.push_back(there);
      return absl::InvalidArgumentError(
          absl::StrCat("signature '", arguments.signature, "' has no input '", name,
                       "' (it takes: ", absl::StrJoin(names, ", "), ")"));
    }
    absl::StatusOr<Tensor> tensor = ReadInputValue(it->second.dtype, value);
    if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("input '", name, "': "));
    values[name] = *std::move(tensor);
  }
  std::vector<std::string> missing;
  for (const auto& [name, tensor] : signature.inputs) {
    if (values.count(name) > 0 || signature.defaults.count(name) > 0) continue;
    missing.push_back(absl::StrCat("input '", name, "' (", DTypeName(tensor.dtype), " ",
                                   tensor.shape.ToString(), ") is not given: add --input ", name,
                                   "=VALUE"));
  }
  if (!missing.empty()) return absl::InvalidArgumentError(absl::StrJoin(missing, "; "));
  return values;
}

absl::Status Print(const Arguments& arguments, const std::vector<NamedOutput>& outputs) {
  std::string text;
  if (arguments.json) {
    RETURN_IF_ERROR(AppendPredictResponse(PredictLayout::kColumnar, outputs, &text));
    text += '\n';
  } else {
    constexpr int kMaxElements = 1000;
    for (const NamedOutput& output : outputs) {
      absl::StrAppend(&text, output.name, ": ", output.tensor.ToString(kMaxElements), "\n");
    }
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return absl::OkStatus();
}

absl::Status Run(const Arguments& arguments) {
  RETURN_IF_ERROR(LoadOpLibraries(arguments.op_library).status());
  SessionOptions session = arguments.session;
  session.host = std::make_shared<Host>(Host::Options{});
  ASSIGN_OR_RETURN(SavedModelBundle bundle,
                   LoadSavedModel(arguments.directory, arguments.tags, session));
  ASSIGN_OR_RETURN(const Signature* signature, FindSignature(bundle, arguments.signature));
  using Values = std::map<std::string, Tensor>;
  ASSIGN_OR_RETURN(const Values inputs, ReadInputs(arguments, *signature));
  ASSIGN_OR_RETURN(const std::unique_ptr<SavedModelServable> servable,
                   SavedModelServable::Create(std::move(bundle), {}));
  std::vector<absl::string_view> names;
  std::vector<Tensor> values;
  for (const auto& [name, value] : inputs) {
    names.push_back(name);
    values.push_back(value);
  }
  const auto input = [&](size_t i) -> absl::StatusOr<Tensor> { return values[i]; };
  PredictResult result;
  RETURN_IF_ERROR(servable->Predict(
      {.signature_name = arguments.signature, .input_names = names, .input = input}, {}, &result));
  return Print(arguments, result.outputs);
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
