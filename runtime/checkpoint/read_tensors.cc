#include "runtime/checkpoint/read_tensors.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "runtime/base/cpu_count.h"

namespace tessera {

absl::StatusOr<std::vector<Tensor>> ReadTensors(const CheckpointReader& checkpoint,
                                                absl::Span<const std::string> names) {
  std::vector<Tensor> tensors(names.size());
  std::vector<absl::Status> statuses(names.size());
  std::atomic<size_t> next{0};
  const auto read = [&] {
    for (size_t i = next++; i < names.size(); i = next++) {
      absl::StatusOr<Tensor> tensor = checkpoint.Read(names[i]);
      statuses[i] = tensor.status();
      if (tensor.ok()) tensors[i] = *std::move(tensor);
    }
  };
  const size_t num_threads = std::min<size_t>(AvailableCores(), names.size());
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
