// Writes and restores checkpoints, and says how long each took:
//
//   checkpoint_runner PREFIX --megabytes=N --tensors=N
//
// Makes the tensors once. Every line of the standard input is a command, and the answer to it is
// one line, the nanoseconds it took:
//
//   save        writes the checkpoint, and waits until it is on the disk
//   restore     reads all tensors, with their checksums
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/checkpoint/read_tensors.h"

namespace tessera {
namespace {

std::string NameOf(size_t i) { return absl::StrCat("layer_", i, "/kernel"); }

absl::StatusOr<std::vector<Tensor>> MakeTensors(int64_t megabytes, int64_t count) {
  std::vector<Tensor> tensors;
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make({megabytes * (1 << 18) / count}));
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(DType::kFloat, shape));
    uint32_t state = static_cast<uint32_t>(i) + 1;
    for (float& x : tensor.flat<float>()) {
      state = state * 1664525 + 1013904223;
      x = static_cast<float>(state >> 8) * 0x1p-24f;
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

absl::Status Save(const std::string& prefix, const std::vector<Tensor>& tensors) {
  ASSIGN_OR_RETURN(CheckpointWriter writer, CheckpointWriter::Create(prefix));
  for (size_t i = 0; i < tensors.size(); ++i) {
    RETURN_IF_ERROR(writer.Add(NameOf(i), tensors[i]));
  }
  return writer.Finish();
}

absl::Status Restore(const std::string& prefix, const std::vector<Tensor>& tensors) {
  std::vector<std::string> names;
  for (size_t i = 0; i < tensors.size(); ++i) names.push_back(NameOf(i));
  ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(prefix));
  ASSIGN_OR_RETURN(const std::vector<Tensor> restored, ReadTensors(*reader, names));
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (restored[i].flat<float>().back() != tensors[i].flat<float>().back()) {
      return absl::DataLossError(absl::StrCat(NameOf(i), " has other values"));
    }
  }
  return absl::OkStatus();
}

absl::Status Main(const std::string& prefix, int64_t megabytes, int64_t count) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, MakeTensors(megabytes, count));
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    if (line == "restore") {
      RETURN_IF_ERROR(Restore(prefix, tensors));
    } else {
      RETURN_IF_ERROR(Save(prefix, tensors));
    }
    const auto time = std::chrono::steady_clock::now() - start;
    std::cout << std::chrono::nanoseconds(time).count() << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  int64_t megabytes = 0, count = 0;
  std::string prefix;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (absl::ConsumePrefix(&argument, "--megabytes=")) {
      if (!absl::SimpleAtoi(argument, &megabytes)) megabytes = 0;
    } else if (absl::ConsumePrefix(&argument, "--tensors=")) {
      if (!absl::SimpleAtoi(argument, &count)) count = 0;
    } else {
      prefix = std::string(argument);
    }
  }
  if (megabytes < 1 || count < 1 || prefix.empty()) {
    std::cerr << "usage: checkpoint_runner PREFIX --megabytes=N --tensors=N\n";
    return 2;
  }
  const absl::Status status = tessera::Main(prefix, megabytes, count);
  if (status.ok()) return 0;
  std::cerr << "checkpoint_runner: " << status << "\n";
  return 1;
}
