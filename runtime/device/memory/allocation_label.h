// For whom memory is allocated.
#pragma once

#include "absl/strings/string_view.h"

namespace tessera {

// Labels the allocations of the calling thread from a BfcAllocator during its lifetime with
// `label`, such as that of the node whose kernel runs; the innermost one counts. The characters
// must outlive it.
class AllocationLabel {
 public:
  explicit AllocationLabel(absl::string_view label) : outer_(current_) { current_ = label; }
  ~AllocationLabel() { current_ = outer_; }
  AllocationLabel(const AllocationLabel&) = delete;
  AllocationLabel& operator=(const AllocationLabel&) = delete;

  // Empty if there is none.
  static absl::string_view Current() { return current_; }

 private:
  static inline thread_local constinit absl::string_view current_;
  const absl::string_view outer_;
};

}  // namespace tessera
