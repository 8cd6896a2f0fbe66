#include "serving/batching/batching_options.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tessera::serving {
namespace {

// Stands for "no limit". It is small enough that a sum of a few of them cannot overflow.
constexpr int64_t kNoLimit = int64_t{1} << 60;

}  // namespace

std::vector<absl::Status> BatchingOptions::Errors() const {
  std::vector<absl::Status> errors;
  const auto add = [&errors](auto... text) {
    errors.push_back(absl::InvalidArgumentError(absl::StrCat(text...)));
  };
  if (max_batch_size == 0) add("max_batch_size must be positive; was 0");
  if (batch_timeout < absl::ZeroDuration()) {
    add("batch_timeout_micros must be non-negative; was ",
        absl::ToInt64Microseconds(batch_timeout));
  }
  if (enable_large_batch_splitting && max_execution_batch_size) {
    if (*max_execution_batch_size <= 0) {
      add("max_execution_batch_size must be positive; was ", *max_execution_batch_size);
    } else if (max_batch_size > 0 && *max_execution_batch_size > max_batch_size) {
      add("max_execution_batch_size must not be larger than max_batch_size; were ",
          *max_execution_batch_size, " and ", max_batch_size);
    }
  }
  if (max_batch_size != 0 && !allowed_batch_sizes.empty() &&
      allowed_batch_sizes.back() != max_batch_size) {
    add("Last entry in allowed_batch_sizes must match max_batch_size; last entry was ",
        allowed_batch_sizes.back(), "; expected ", max_batch_size);
  }
  return errors;
}

absl::Status BatchingOptions::Validate() const {
  const std::vector<absl::Status> errors = Errors();
  return errors.empty() ? absl::OkStatus() : errors.front();
}

int64_t BatchingOptions::request_limit() const {
  return max_batch_size < 0 ? kNoLimit : max_batch_size;
}

int64_t BatchingOptions::run_limit() const {
  return enable_large_batch_splitting ? max_execution_batch_size.value_or(request_limit())
                                      : request_limit();
}

int64_t BatchingOptions::queue_limit() const {
  return max_enqueued_batches < 0 ? kNoLimit : std::max<int64_t>(1, max_enqueued_batches);
}

int64_t BatchingOptions::PaddedRows(int64_t rows) const {
  for (const int64_t size : allowed_batch_sizes) {
    if (size >= rows) return size;
  }
  return rows;
}

std::vector<int64_t> BatchingOptions::LikelyRows() const {
  const int64_t limit = run_limit();
  std::vector<int64_t> likely;
  // A run takes the first size that is large enough, and so never a smaller one that comes later.
  for (const int64_t size : allowed_batch_sizes) {
    if (!likely.empty() && likely.back() >= limit) break;
    if (size > (likely.empty() ? 0 : likely.back())) likely.push_back(size);
  }
  if (!likely.empty()) return likely;
  const int64_t most = std::min(limit, kMaxLikelyRows);
  for (int64_t rows = 1; rows < most; rows *= 2) likely.push_back(rows);
  likely.push_back(most);
  return likely;
}

}  // namespace tessera::serving
