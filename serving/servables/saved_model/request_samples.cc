#include "serving/servables/saved_model/request_samples.h"

#include <algorithm>
#include <utility>

namespace tessera::serving {

bool RequestSamples::IsLike(const Sample& sample, absl::Span<const int> outputs,
                            absl::Span<const Tensor> feeds) {
  return std::equal(sample.outputs.begin(), sample.outputs.end(), outputs.begin(), outputs.end()) &&
         std::equal(sample.feeds.begin(), sample.feeds.end(), feeds.begin(), feeds.end(),
                    [](const Feed& feed, const Tensor& tensor) {
                      return feed.dtype == tensor.dtype() && feed.shape == tensor.shape();
                    });
}

void RequestSamples::Offer(absl::Span<const int> outputs, absl::Span<const Tensor> feeds) {
  if (is_full_.load(std::memory_order_relaxed)) return;
  const auto is_like = [&](const Sample& sample) { return IsLike(sample, outputs, feeds); };
  if (samples_.Find(is_like) != nullptr) return;

  absl::MutexLock lock(&mu_);
  if (samples_.size() == kMaxSamples || samples_.Find(is_like) != nullptr) return;
  Sample sample;
  sample.outputs.assign(outputs.begin(), outputs.end());
  size_t bytes = 0;
  for (const Tensor& feed : feeds) bytes += feed.total_bytes();
  for (const Tensor& feed : feeds) {
    Tensor value;
    if (bytes <= kMaxBytes) {
      // A copy, because the memory of the request may be part of a larger buffer.
      absl::StatusOr<Tensor> copy = feed.DeepCopy();
      if (!copy.ok()) return;
      value = *std::move(copy);
    }
    sample.feeds.push_back({feed.dtype(), feed.shape(), std::move(value)});
  }
  samples_.Add(std::move(sample));
  if (samples_.size() == kMaxSamples) is_full_.store(true, std::memory_order_relaxed);
}

void RequestSamples::ForEach(
    absl::FunctionRef<void(absl::Span<const int> outputs, std::vector<Tensor> feeds)> visit) const {
  samples_.ForEach([&](const Sample& sample) {
    std::vector<Tensor> feeds;
    for (const Feed& feed : sample.feeds) {
      absl::StatusOr<Tensor> tensor =
          feed.value.has_value() ? feed.value : Tensor::Zeros(feed.dtype, feed.shape);
      if (!tensor.ok()) return;
      feeds.push_back(*std::move(tensor));
    }
    visit(sample.outputs, std::move(feeds));
  });
}

}  // namespace tessera::serving
