// CostCurve: how long runs of a model take, by their number of rows.
#pragma once

#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace tessera::serving {

// Learns from runs, those of warm-up and those of clients, and answers what batching asks. A recent
// run counts for a fifth of what is known of its size, so that the curve follows a device that
// others use, too. Between the sizes that were seen it is linear; below the smallest it is flat,
// and above the largest it goes on as between the last two.
//
// Thread-safe.
class CostCurve {
 public:
  // Requires at least one row.
  void Record(int64_t rows, absl::Duration time);

  // Returns the fewest rows, up to `limit`, with which the device does nearly as many rows a second
  // as with any other number: more of them would only make each request wait longer. Returns
  // `limit` before runs of two sizes were recorded.
  int64_t BestRows(int64_t limit) const;

  // Returns whether `rows` and `more` rows are done much sooner by one run than by two.
  bool IsWorthMerging(int64_t rows, int64_t more) const;

 private:
  double SecondsOf(int64_t rows) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  std::map<int64_t, double> seconds_ ABSL_GUARDED_BY(mu_);  // by SizeClass()
};

}  // namespace tessera::serving
