// The elementwise primitive: z = f(x, ...) for each element, f being the functor of a declaration
// (runtime/kernels/primitives/elementwise/declaration.h).
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/strided_operands.h"

namespace tessera {

// A declared function, for operands of one dtype.
//
//   std::unique_ptr<Elementwise> add = Primitive<Elementwise>(build)(build, {"AddV2", dtype});
//
// A type of device that implements this implements every declared op for each of its dtypes, but
// for string, which only the CPU has. Thread-safe.
class Elementwise {
 public:
  struct Options {
    absl::string_view name;  // name of the declaration
    DType dtype;             // dtype of the operands
    float attr = 0;          // the attribute, if the declaration has one
  };
  // Fails the build and returns null if the op is not declared.
  using Function = std::unique_ptr<Elementwise>(const KernelBuild& build, const Options& options);

  virtual ~Elementwise() = default;

  // Computes operand 0 from the others, of which there are as many as the declaration says; the
  // attribute is not among them. They lie in the device's memory. `operands` is unspecified
  // afterwards.
  // Errors: those of the declaration's check, if an element of the last operand that is used fails
  // it. The result is unspecified then. On a device with a stream the stream may get the error.
  virtual absl::Status Run(KernelContext& ctx, StridedOperands& operands) const = 0;
  // Does what Run() does for one row. Only `columns`, `data` and `column_stride` of the block are
  // read.
  virtual absl::Status RunRow(KernelContext& ctx, LoopBlock& row) const = 0;
};

}  // namespace tessera
