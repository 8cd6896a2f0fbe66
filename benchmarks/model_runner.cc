// Runs one SavedModel in process at the word of benchmarks/model.py, which times it in turn with
// its peers.
//
//   model_runner DIR [--threads=N] [--no_freeze] [--numerics=strict] [--disable_pass=NAME]...
//
// Reads commands, one a line, from standard input and answers each with one line:
//   input ALIAS DTYPE DIM,DIM,... FILE   sets an input to the raw bytes of FILE       -> "ok"
//   step N                               runs N times          -> nanoseconds of each, in a row
//   output ALIAS FILE                    runs once, writes the output's raw bytes
//                                                              -> "float 8,1000"
//   profile N                            runs N times    -> "op=microseconds" a run, costly first
// An error is answered with "error: MESSAGE". Used by one writer at a time.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/session/saved_model.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"  // SavedModelBundle owns one

namespace tessera {
namespace {

struct Arguments {
  std::string directory;
  SessionOptions session;
};

absl::StatusOr<Arguments> Parse(int argc, char** argv) {
  Arguments result;
  result.session.freeze_variables = true;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--threads=")) {
      if (!absl::SimpleAtoi(arg, &result.session.intra_op_threads)) {
        return absl::InvalidArgumentError(absl::StrCat("--threads=", arg, " is no number"));
      }
    } else if (arg == "--no_freeze") {
      result.session.freeze_variables = false;
    } else if (arg == "--numerics=strict") {
      result.session.numerics = Numerics::kStrict;
    } else if (absl::ConsumePrefix(&arg, "--disable_pass=")) {
      result.session.optimizer.disabled_passes.emplace_back(arg);
    } else if (!absl::StartsWith(arg, "--") && result.directory.empty()) {
      result.directory = std::string(arg);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unknown argument '", arg, "'"));
    }
  }
  if (result.directory.empty()) return absl::InvalidArgumentError("no model is given");
  return result;
}

class Runner {
 public:
  static absl::StatusOr<std::unique_ptr<Runner>> Load(const Arguments& arguments) {
    auto runner = std::make_unique<Runner>();
    ASSIGN_OR_RETURN(runner->bundle_,
                     LoadSavedModel(arguments.directory, {"serve"}, arguments.session));
    const auto signature = runner->bundle_.signatures.find("serving_default");
    if (signature == runner->bundle_.signatures.end()) {
      return absl::NotFoundError("the model has no signature 'serving_default'");
    }
    RunSignature run;
    for (const auto& [alias, tensor] : signature->second.inputs) {
      runner->input_positions_[alias] = run.feeds.size();
      run.feeds.push_back(tensor.tensor_name);
    }
    for (const auto& [alias, tensor] : signature->second.outputs) {
      runner->output_positions_[alias] = run.fetches.size();
      run.fetches.push_back(tensor.tensor_name);
    }
    runner->feeds_.resize(run.feeds.size());
    ASSIGN_OR_RETURN(runner->callable_, runner->bundle_.session->MakeCallable(run));
    return runner;
  }

  absl::StatusOr<std::string> Execute(const std::vector<std::string>& words) {
    if (words.size() == 5 && words[0] == "input") {
      RETURN_IF_ERROR(SetInput(words[1], words[2], words[3], words[4]));
      return std::string("ok");
    }
    if (words.size() == 3 && words[0] == "output") return WriteOutput(words[1], words[2]);
    int times = 0;
    if (words.size() == 2 && absl::SimpleAtoi(words[1], &times) && times > 0) {
      if (words[0] == "step") return TimeSteps(times);
      if (words[0] == "profile") return Profile(times);
    }
    return absl::InvalidArgumentError(absl::StrCat("unknown command: ", absl::StrJoin(words, " ")));
  }

 private:
  absl::Status SetInput(const std::string& alias, const std::string& dtype, const std::string& dims,
                        const std::string& file) {
    const auto position = input_positions_.find(alias);
    if (position == input_positions_.end()) {
      return absl::NotFoundError(absl::StrCat("the model has no input '", alias, "'"));
    }
    Shape shape;
    for (absl::string_view dim : absl::StrSplit(dims, ',', absl::SkipEmpty())) {
      int64_t size = 0;
      if (!absl::SimpleAtoi(dim, &size) || size < 0) {
        return absl::InvalidArgumentError(absl::StrCat("'", dim, "' is no dimension"));
      }
      shape.AddDim(size);
    }
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(DTypeFromName(dtype), shape));
    if (tensor.size_bytes() != bytes.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, " has ", bytes.size(), " bytes, not ", tensor.size_bytes()));
    }
    std::memcpy(tensor.mutable_raw(), bytes.data(), bytes.size());
    feeds_[position->second] = std::move(tensor);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> WriteOutput(const std::string& alias, const std::string& file) {
    const auto position = output_positions_.find(alias);
    if (position == output_positions_.end()) {
      return absl::NotFoundError(absl::StrCat("the model has no output '", alias, "'"));
    }
    std::vector<Tensor> fetches;
    RETURN_IF_ERROR(callable_->Run(RunOptions(), feeds_, &fetches));
    const Tensor& output = fetches[position->second];
    ASSIGN_OR_RETURN(AtomicFile written, AtomicFile::Create(file));
    RETURN_IF_ERROR(written.Append({output.raw(), output.size_bytes()}));
    RETURN_IF_ERROR(written.Commit());
    return absl::StrCat(DTypeName(output.dtype()), " ", absl::StrJoin(output.shape().dims(), ","));
  }

  absl::StatusOr<std::string> TimeSteps(int times) {
    std::vector<int64_t> nanoseconds;
    std::vector<Tensor> fetches;
    for (int i = 0; i < times; ++i) {
      const auto start = std::chrono::steady_clock::now();
      RETURN_IF_ERROR(callable_->Run(RunOptions(), feeds_, &fetches));
      nanoseconds.push_back((std::chrono::steady_clock::now() - start).count());
    }
    return absl::StrJoin(nanoseconds, " ");
  }

  absl::StatusOr<std::string> Profile(int times) {
    std::map<std::string, std::pair<int, int64_t>> by_op;  // nodes, microseconds
    RunOptions options;
    options.collect_stats = true;
    for (int i = 0; i < times; ++i) {
      tensorflow::RunMetadata metadata;
      std::vector<Tensor> fetches;
      RETURN_IF_ERROR(callable_->Run(options, feeds_, &fetches, &metadata));
      for (const auto& device : metadata.step_stats().dev_stats()) {
        for (const auto& node : device.node_stats()) {
          const std::string label = node.timeline_label();
          auto& [count, total] = by_op[OpOf(label)];
          ++count;
          total += node.op_end_rel_nanos() - node.op_start_rel_nanos();
        }
      }
    }
    std::vector<std::pair<int64_t, std::string>> sorted;
    for (const auto& [op, cost] : by_op) {
      sorted.emplace_back(
          cost.second, absl::StrCat(op, "x", cost.first / times, "=", cost.second / times / 1000));
    }
    std::sort(sorted.rbegin(), sorted.rend());
    return absl::StrJoin(sorted, " ",
                         [](std::string* out, const auto& entry) { out->append(entry.second); });
  }

  // "name = Op(input, ...)" as timelines show it.
  static std::string OpOf(const std::string& label) {
    const std::vector<std::string> parts = absl::StrSplit(label, absl::MaxSplits(" = ", 1));
    const std::vector<std::string> op = absl::StrSplit(parts.back(), absl::MaxSplits('(', 1));
    return op[0];
  }

  SavedModelBundle bundle_;
  std::map<std::string, size_t> input_positions_, output_positions_;
  std::vector<Tensor> feeds_;
  std::shared_ptr<const Callable> callable_;
};

absl::Status Main(int argc, char** argv) {
  ASSIGN_OR_RETURN(const Arguments arguments, Parse(argc, argv));
  ASSIGN_OR_RETURN(const std::unique_ptr<Runner> runner, Runner::Load(arguments));
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const absl::StatusOr<std::string> answer =
        runner->Execute(absl::StrSplit(line, ' ', absl::SkipEmpty()));
    std::cout << (answer.ok() ? *answer : absl::StrCat("error: ", answer.status().ToString()))
              << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  const absl::Status status = tessera::Main(argc, argv);
  if (status.ok()) return 0;
  std::cerr << "model_runner: " << status.ToString() << std::endl;
  return 1;
}
