// The fused elementwise primitive: several elementwise functions in one sweep over memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// Calls of elementwise functions for each element of a shape, one after the other. Results that
// only later calls of the sweep read stay in scratch memory, so that they never leave the cache.
struct ElementwiseSweep {
  // The layout of a value's elements. Strides count bytes; 0 repeats an element. In scratch memory
  // elements are contiguous, and `column_stride` is the size of an element, which is 1 for a bool.
  struct Operand {
    int base = 0;  // index of the base address that Run() is given; -1 if the value is scratch
    int slot = 0;  // of scratch memory; only used if `base` is -1
    int64_t offset = 0;  // of the first element from the base address, in bytes
    int64_t column_stride = 0;
    int64_t row_stride = 0;
    absl::InlinedVector<int64_t, 2> outer_strides;
  };
  // One function: operands[0] = function(operands[1], operands[2], operands[3]).
  struct Call {
    int function = 0;  // index of the names that the primitive was made with
    int arity = 0;     // 1 to 3
    std::array<int, 4> operands{};
    // The result is scratch that the next call reads once, and no other.
    bool feeds_next = false;
  };

  int64_t columns = 1, rows = 1;
  absl::InlinedVector<int64_t, 2> outer_dims;
  std::vector<Operand> operands;
  std::vector<Call> calls;
  int num_slots = 0;  // at most kMaxSlots
  double cost = 0;    // nanoseconds an element, for splitting the sweep over threads

  static constexpr int kMaxSlots = 128;
};

// A list of declared functions of floats (runtime/kernels/primitives/elementwise/declaration.h), or
// of bools, such as LogicalAnd, and of SelectV2, the choice between floats. Thread-safe.
class FusedElementwise {
 public:
  // `functions` are names of declarations without checks and attributes. Fails the build and
  // returns null if a function is declared neither for float nor for bool.
  using Function = std::unique_ptr<FusedElementwise>(const KernelBuild& build,
                                                     absl::Span<const std::string> functions);

  virtual ~FusedElementwise() = default;

  // Makes all calls of the sweep for all elements. `bases` are addresses in the device's memory. A
  // result may take the place of an operand of the same or an earlier call, element by element, if
  // no later call reads that operand. Other overlaps are not allowed.
  virtual absl::Status Run(KernelContext& ctx, const ElementwiseSweep& sweep,
                           absl::Span<char* const> bases) const = 0;
};

}  // namespace tessera
