// Draws classes at random, with probabilities given by logits.
#pragma once

#include "runtime/kernels/primitives/philox_source.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct Multinomial {
  // Fills `samples`, int32 or int64 and [rows, draws], with numbers of columns of `logits`, which
  // holds real numbers and is [rows, classes] with at least one class.
  //
  // Running totals of exp(logit - max) are made in double for each row, where a logit that is not
  // finite gives a class the probability 0. Draw number i, counted over all rows, makes a number in
  // [0, 1) of words 2 i and 2 i + 1 of `generator`, and takes the first class whose running total
  // exceeds this share of the whole total. A row without a finite logit gives `classes`, which is
  // not a class, as in TensorFlow.
  using Function = absl::Status(KernelContext& ctx, const PhiloxSource& generator,
                                const Tensor& logits, Tensor* samples);
};

}  // namespace tessera
