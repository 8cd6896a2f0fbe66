// Tensors as text, for ops that print them.
#pragma once

#include <string>

#include "runtime/tensor/tensor.h"

namespace tessera {

// In numpy's layout, with the first and last `edge_items` entries of each dimension and "..." for
// those between; negative: all.
//
//   [[0 1 ... 8 9]
//    [10 11 ... 18 19]]
//
// A tensor without elements has none at its edges: "..." stands for the entries of its first
// dimension, if that has any.
std::string SummarizeTensor(const Tensor& tensor, int64_t edge_items);

// At most `max_elements` elements from the front, without quotes and line breaks, and "..." for the
// others; negative: all. What a failed Assert says.
//
//   [1 2 3][4...]...
std::string SummarizeFirst(const Tensor& tensor, int64_t max_elements);

// A number in as few of 6 or 9 (double: 15 or 17) digits as read back to the same number.
std::string NumberText(float value);
std::string NumberText(double value);

}  // namespace tessera
