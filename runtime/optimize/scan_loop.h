// Recognises what JAX's scan makes of a sequence: slices of a tensor, and updates of one.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/optimize/sequence_loop.h"

namespace tessera {

// Finds the slice of one matrix that the body takes of a tensor in each step, at the counter. False
// if there is none, or more than one.
bool ReadScannedInput(SequenceLoop* loop);

// True if loop variable i is a tensor of which each step overwrites one matrix, at the counter, so
// that nothing of the initial tensor is left. Requires that ReadScannedInput() was true.
bool ReadScannedOutput(int i, SequenceLoop* loop);

// A range of columns.
struct ColumnRange {
  int64_t begin = 0, end = 0;
};
// Returns the columns that `slice`, a StridedSlice of the body, takes of a matrix with as many rows
// as the loop reads; nullopt if it takes something else.
std::optional<ColumnRange> SlicedColumnsOf(const SequenceLoop& loop, const Node& slice);

}  // namespace tessera
