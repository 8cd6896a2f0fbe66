// CoreSet: a set of CPU cores that threads may be bound to.
#pragma once

#include <sched.h>

#include "absl/status/status.h"

namespace tessera {

// A set of the machine's cores, by number.
//
//   const CoreSet half = CoreSet::OfThisThread().Share(0.5);
//   RETURN_IF_ERROR(half.BindThisThread());   // in a thread whose work may use half of the cores
//
// Threads that a bound thread starts later inherit the cores, including those that a library
// starts. So all of them together never use more of the machine. A value type.
class CoreSet {
 public:
  // The empty set, which binds no thread.
  CoreSet() { CPU_ZERO(&cores_); }

  // The cores that the calling thread may run on; empty if the kernel does not tell.
  static CoreSet OfThisThread();

  // Returns a subset with `share` of the cores, or of AvailableCores() if there are fewer of these,
  // 0 < share <= 1. The number is rounded, and at least one unless this set is empty. The choice
  // depends on the process, so that the servers on one machine do not all choose the same cores.
  CoreSet Share(double share) const;

  bool empty() const { return size() == 0; }
  int size() const { return CPU_COUNT(&cores_); }
  bool Contains(int core) const { return CPU_ISSET(core, &cores_); }

  // Lets the calling thread run on these cores only. Does nothing if the set is empty.
  // Errors: those of sched_setaffinity(), for a process that may not do this.
  absl::Status BindThisThread() const;

  friend bool operator==(const CoreSet& a, const CoreSet& b) {
    return CPU_EQUAL(&a.cores_, &b.cores_);
  }

 private:
  cpu_set_t cores_;
};

}  // namespace tessera
