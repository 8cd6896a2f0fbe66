#include "runtime/checkpoint/restore_tensors.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/cpu_count.h"

namespace tessera {
namespace {

// The number of tensors that a message lists.
constexpr size_t kMostShown = 5;

// Tells how the tensor of the checkpoint does not fit; empty if it fits.
std::string Misfit(const CheckpointReader& checkpoint, const ExpectedTensor& expected) {
  const absl::StatusOr<CheckpointEntry> entry = checkpoint.Find(expected.key);
  if (!entry.ok()) return absl::StrCat("'", expected.key, "' is missing");
  if (entry->dtype != expected.dtype) {
    return absl::StrCat("'", expected.key, "' is ", DTypeName(entry->dtype),
                        " in the checkpoint and ", DTypeName(expected.dtype), " in the graph");
  }
  if (!expected.shape.IsCompatibleWith(entry->shape)) {
    return absl::StrCat("'", expected.key, "' has shape ", entry->shape.ToString(),
                        " in the checkpoint and ", expected.shape.ToString(), " in the graph");
  }
  return "";
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> RestoreTensors(const CheckpointReader& checkpoint,
                                                   absl::Span<const ExpectedTensor> expected) {
  std::vector<std::string> misfits;
  for (const ExpectedTensor& tensor : expected) {
    if (std::string misfit = Misfit(checkpoint, tensor); !misfit.empty()) {
      misfits.push_back(std::move(misfit));
    }
  }
  if (!misfits.empty()) {
    const size_t count = misfits.size();
    misfits.resize(std::min(count, kMostShown));
    return absl::InvalidArgumentError(absl::StrCat(
        "the checkpoint does not fit the graph, ", count, " of whose ", expected.size(),
        " variables differ: ", absl::StrJoin(misfits, "; "), count > kMostShown ? "; ..." : ""));
  }
  std::vector<Tensor> tensors(expected.size());
  std::vector<absl::Status> statuses(expected.size());
  std::atomic<size_t> next{0};
  const auto read = [&] {
    for (size_t i = next++; i < expected.size(); i = next++) {
      absl::StatusOr<Tensor> tensor = checkpoint.Read(expected[i].key);
      statuses[i] = tensor.status();
      if (tensor.ok()) tensors[i] = *std::move(tensor);
    }
  };
  const size_t num_threads = std::min<size_t>(AvailableCores(), expected.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < num_threads; ++i) threads.emplace_back(read);
  read();
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return tensors;
}

}  // namespace tessera
