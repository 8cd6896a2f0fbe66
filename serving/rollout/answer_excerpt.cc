#include "serving/rollout/answer_excerpt.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tessera::serving {
namespace {

// int4 and float8 elements are left out: no output of a model has them.
bool IsCompared(DType dtype, bool is_named) {
  switch (dtype) {
    case DType::kHalf:
    case DType::kBfloat16:
    case DType::kFloat:
    case DType::kDouble:
      return true;
    case DType::kInt8:
    case DType::kUint8:
    case DType::kInt16:
    case DType::kUint16:
    case DType::kInt32:
    case DType::kUint32:
    case DType::kInt64:
    case DType::kUint64:
      return is_named;
    default:
      return false;
  }
}

// Returns how many elements of a tensor are taken if there is room for `room`.
int64_t NumTaken(const Tensor& tensor, int64_t room) {
  const int64_t n = std::min(room, tensor.num_elements());
  const int64_t row = tensor.rank() == 0 ? 1 : std::max<int64_t>(1, tensor.dim(tensor.rank() - 1));
  return n < row ? n : n - n % row;
}

// Returns the number of outputs before the one at `index` that have its name.
size_t OccurrenceOf(absl::Span<const NamedOutput> outputs, size_t index) {
  const auto before = outputs.first(index);
  return static_cast<size_t>(
      std::count_if(before.begin(), before.end(),
                    [&](const NamedOutput& output) { return output.name == outputs[index].name; }));
}

}  // namespace

size_t AnswerExcerpt::size_bytes() const {
  size_t bytes = 0;
  for (const Output& output : outputs) bytes += output.first.size_bytes();
  return bytes;
}

AnswerExcerpt ExcerptOf(absl::Span<const NamedOutput> outputs, absl::string_view output) {
  AnswerExcerpt excerpt;
  int64_t room = AnswerExcerpt::kMaxElements;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const NamedOutput& candidate = outputs[i];
    const Tensor& tensor = candidate.tensor;
    if (!output.empty() && candidate.name != output) continue;
    if (!IsCompared(tensor.dtype(), !output.empty())) continue;
    if (!IsHostAccessible(tensor.memory_kind())) continue;
    if (excerpt.outputs.size() == AnswerExcerpt::kMaxOutputs) break;
    const int64_t n = NumTaken(tensor, room);
    absl::StatusOr<Tensor> first = Tensor::Allocate(tensor.dtype(), {n});
    if (!first.ok()) continue;
    if (n > 0) std::memcpy(first->mutable_raw(), tensor.raw(), first->size_bytes());
    room -= n;
    excerpt.outputs.push_back({std::string(candidate.name), OccurrenceOf(outputs, i),
                               tensor.dtype(), tensor.shape(), *std::move(first)});
  }
  return excerpt;
}

}  // namespace tessera::serving
