// CoreSet: cores that threads are kept to.
#pragma once

#include <sched.h>

#include "absl/status/status.h"

namespace tessera {

// Some of the machine's cores, by number.
//
//   const CoreSet half = CoreSet::OfThisThread().Share(0.5);
//   RETURN_IF_ERROR(half.KeepThisThread());   // in a thread whose work may take half of the cores
//
// What a thread starts after that stays on the same cores, threads of libraries included, so that
// however many they are, they take no more of the machine. A value type.
class CoreSet {
 public:
  // Empty: keeps no thread anywhere.
  CoreSet() { CPU_ZERO(&cores_); }

  // Those that the calling thread may run on; empty where the kernel does not tell.
  static CoreSet OfThisThread();

  // `share` of these, above 0 and up to 1: rounded, at least one unless this is empty. Which ones
  // differs from process to process, so that servers on one machine do not all choose the same.
  CoreSet Share(double share) const;

  bool empty() const { return size() == 0; }
  int size() const { return CPU_COUNT(&cores_); }
  bool Contains(int core) const { return CPU_ISSET(core, &cores_); }

  // Does nothing if this is empty. Errors: those of the kernel, which may not allow it.
  absl::Status KeepThisThread() const;

  friend bool operator==(const CoreSet& a, const CoreSet& b) {
    return CPU_EQUAL(&a.cores_, &b.cores_);
  }

 private:
  cpu_set_t cores_;
};

}  // namespace tessera
