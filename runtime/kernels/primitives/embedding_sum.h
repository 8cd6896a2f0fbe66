// Sums of rows that are looked up in tables, and of what else is added to them.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct EmbeddingSum {
  // Gives a row to each row of the sum. The rows of the sum are counted by indices i in `dims`, and
  // the summand's row is `scale` times row number sum i_k * strides[k] of `values`, or, with
  // `indices`, the row that index names.
  struct Summand {
    const Tensor* values;   // float, rows of `width` elements
    const Tensor* indices;  // int32 or int64; null for a summand that is no table
    int64_t width;          // the columns of the sum, or 1: the element counts for all
    float scale;
    absl::Span<const int64_t> strides;  // counted in rows; 0 repeats a row
    absl::string_view gather;           // the node whose indices these are, for errors
  };

  // Writes each row of the sum once: that of the first summand, to which the others are added in
  // order. The output has `columns` columns. All indices are checked, as BadIndices::kError says,
  // before anything is written; the error names the node: "{{node gather}} indices[...] ...".
  using Function = absl::Status(KernelContext& ctx, absl::Span<const int64_t> dims, int64_t columns,
                                absl::Span<const Summand> summands, Tensor* output);
};

}  // namespace tessera
