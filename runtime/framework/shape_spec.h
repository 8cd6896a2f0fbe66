// Shape functions written as a line of text.
//
//   REGISTER_OP("MatrixSolve")...
//       .ShapeFn(shape::Spec<"[*b, m, m], [*b, m, k] -> [*b, m, k]">);
//
// Before the arrow stands a shape for each input, after it one for each output:
//
//   _          any shape
//   [2, m, ?]  two rows of m columns of any depth; equal names are equal sizes
//   [*b, m]    a run of any number of dimensions, then one; at most one run in an input's shape
//
// An output's shape may also have
//
//   @k         the value of attribute k, an integer; values below 1 mean an unknown size
//   $1         the number in input 1, if it is constant
//   <1>        the dimensions that input 1, a vector of sizes, describes
//
// A last shape followed by "..." stands for any number of inputs or outputs. What the known inputs
// do not tell is unknown in the outputs: a size, or the rank where a run is unknown.
#pragma once

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/framework/shape_inference.h"

namespace tessera {

// Infers by such a line. Errors: INVALID_ARGUMENT if an input does not have the shape that the line
// says; INTERNAL if the line itself is wrong.
absl::Status InferBySpec(absl::string_view spec, ShapeContext& c);

namespace shape {

// A text as a template argument.
template <size_t N>
struct SpecText {
  constexpr SpecText(const char (&text)[N]) { std::copy_n(text, N, chars); }  // NOLINT: implicit
  char chars[N];
};

template <SpecText kText>
absl::Status Spec(ShapeContext& c) {
  return InferBySpec(kText.chars, c);
}

}  // namespace shape
}  // namespace tessera
