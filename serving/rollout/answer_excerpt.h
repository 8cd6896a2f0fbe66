// AnswerExcerpt: as much of an answer as is compared with another version's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// The first elements of the numeric outputs of an answer. They are copies, so that the memory of
// the answer is free for the next run while the excerpt waits. A value type.
struct AnswerExcerpt {
  // The most elements that one answer is compared by, over all of its outputs in their order.
  // Copying as many floats takes less than a microsecond while they are in the cache.
  static constexpr int64_t kMaxElements = 16 << 10;
  // The most outputs.
  static constexpr size_t kMaxOutputs = 16;

  struct Output {
    std::string name;
    // The number of outputs of the same name before this one. It may be above 0 in answers to
    // MultiInference, because two of its tasks may each have an output of that name.
    size_t occurrence = 0;
    DType dtype = DType::kInvalid;
    Shape shape;   // of the whole output
    Tensor first;  // the first elements, of shape [n]
  };
  std::vector<Output> outputs;

  size_t size_bytes() const;
};

// Returns the excerpt of the output of this name, which may be of floating-point numbers or of
// integers; if `output` is empty, of all outputs of floating-point numbers. Outputs of other types,
// and without memory for the copy, are left out. Of an output that has more elements than there is
// room for, whole rows of the last axis are taken, or a part of the first row.
AnswerExcerpt ExcerptOf(absl::Span<const NamedOutput> outputs, absl::string_view output);

}  // namespace tessera::serving
