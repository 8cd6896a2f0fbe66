// The source of a kernel that makes all calls of a fused elementwise sweep, for a compiler that
// runs while the program does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/kernels/primitives/fused_elementwise.h"
#include "runtime/tensor/dtype.h"

namespace tessera::cuda {

// An elementwise op as sweeps call it.
struct SweepFunction {
  absl::string_view functor;         // the C++ type, such as "tessera::functors::Add" of "AddV2"
  DType operands = DType::kInvalid;  // kFloat or kBool; of SelectV2 those that it chooses from
};
// Returns a function without functor if the op is not among those that sweeps consist of.
SweepFunction FindSweepFunction(absl::string_view op);

// A sweep split into what is compiled into a kernel and what the kernel gets as parameters, so that
// one kernel serves all shapes that are laid out alike.
class SweepKernel {
 public:
  // `functors` are the types that calls name by their index. Sweeps have elements.
  SweepKernel(const ElementwiseSweep& sweep, absl::Span<char* const> bases);

  // Returns what the source depends on besides the functors: kernels with equal keys are equal.
  const std::string& key() const { return key_; }
  // The source, of a function with C linkage that is called kFunctionName.
  std::string Source(absl::Span<const absl::string_view> functors) const;
  // The only parameter of the function, a struct of integers and addresses of 8 bytes each.
  absl::Span<const int64_t> parameters() const { return parameters_; }
  // Threads that have something to do.
  int64_t num_items() const { return num_items_; }

  static constexpr absl::string_view kFunctionName = "RunSweep";
  // Names and texts of the headers that sources include.
  struct Header {
    std::string name, text;
  };
  static const std::vector<Header>& Headers();

 private:
  // How an operand in memory changes along a dimension.
  enum class Stride : char { kRepeats = 'r', kContiguous = 'c', kStrided = 's' };
  struct Dimension {
    int64_t size;
    std::vector<int64_t> strides;  // by operand
  };

  bool IsInMemory(int operand) const { return sweep_.operands[operand].base >= 0; }
  Stride StrideOf(int operand, size_t dimension) const;
  std::string Offset(int operand) const;

  const ElementwiseSweep& sweep_;
  std::vector<Dimension> dimensions_;  // the innermost first, without those of one element
  int lanes_ = 1;                      // elements of a thread at once
  bool has_small_indices_ = true;      // that fit 32 bits
  int64_t num_items_ = 1;
  std::string key_;
  std::vector<int64_t> parameters_;
};

}  // namespace tessera::cuda
