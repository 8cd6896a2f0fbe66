// Primitive: reductions whose operands lie on several devices, each of which gets the result.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"

namespace tessera {

struct AllReduce {
  enum class Merge : uint8_t { kAdd, kMul, kMin, kMax };
  struct Options {
    Merge merge = Merge::kAdd;
    bool divide = false;  // divides the result by the number of members
    friend bool operator==(const Options&, const Options&) = default;
  };
  // One operand, and the kernel on whose device it lies and the result will lie.
  struct Member {
    KernelContext* ctx;
    Tensor input;
  };

  // Merges the inputs, which are real numbers of one dtype and shape, element by element and in the
  // order of the members, and appends each member's result; members may get the same tensor. The
  // devices of all members have one type. Their contexts live until this returns; on devices with
  // streams, work may go on then.
  // Errors: UNIMPLEMENTED for what these devices cannot do among each other.
  using Function = absl::Status(const Options& options, absl::Span<const Member> members,
                                std::vector<Tensor>* results);
};

}  // namespace tessera
