// Sums of rows that are looked up in tables, and of further summands.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct EmbeddingSum {
  // A summand, which contributes one row to each row of the sum. The rows of the sum have indices i
  // in `dims`. The row of the summand is `scale` times row number sum i_k * strides[k] of `values`,
  // or, with `indices`, the row of `values` that the index at this position names.
  struct Summand {
    const Tensor* values;   // float, rows of `width` elements
    const Tensor* indices;  // int32 or int64; null if no table is looked up
    int64_t width;          // the columns of the sum, or 1: one element is added to all columns
    float scale;
    absl::Span<const int64_t> strides;  // counted in rows; 0 repeats a row
    absl::string_view gather;           // the node whose indices these are, for errors
  };

  // Writes each row of the sum once. It is the row of the first summand, to which those of the
  // others are added in order. The output has `columns` columns. All indices are checked, as
  // BadIndices::kError says, before anything is written; the error names the node: "{{node gather}}
  // indices[...] ...".
  using Function = absl::Status(KernelContext& ctx, absl::Span<const int64_t> dims, int64_t columns,
                                absl::Span<const Summand> summands, Tensor* output);
};

}  // namespace tessera
