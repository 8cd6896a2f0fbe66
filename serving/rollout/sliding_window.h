// SlidingWindow and WindowCounters: counts of what happened within the last minute, say, which
// threads add to without a lock.
//
//   WindowCounters counters(absl::Minutes(1), /*num_counters=*/2);
//   counters.Add(absl::Now(), kErrors);
//   std::vector<int64_t> sums = counters.Sums(absl::Now());
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"

namespace tessera::serving {

// Divides time into slices, twelve to a window. What belongs to a slice is kept in its slot, one of
// kSlots that slices use in turn, together with its tag, which tells the slice from others that
// have used the slot. So nothing has to be cleared when time goes on.
//
// A window is made of the slice that began last and the twelve before it: it covers the time that
// it is asked for, and at most a twelfth more. Thread-safe.
class SlidingWindow {
 public:
  static constexpr int kSlots = 13;

  struct Slice {
    int slot;
    uint32_t tag;  // never 0
  };

  // `length` counts as a millisecond if it is less.
  explicit SlidingWindow(absl::Duration length);

  Slice At(absl::Time now) const { return SliceAt(EpochOf(now)); }
  // Returns the slices of the window that ends at `now`.
  std::array<Slice, kSlots> EndingAt(absl::Time now) const;
  // Gives all slices other tags from now on, so that nothing belongs to the window any more.
  void Reset();

 private:
  static constexpr int kGenerationBits = 6;
  static constexpr int kEpochBits = 32 - kGenerationBits;

  int64_t EpochOf(absl::Time now) const { return absl::ToUnixNanos(now) / slice_nanos_; }
  Slice SliceAt(int64_t epoch) const;

  const int64_t slice_nanos_;
  std::atomic<uint32_t> generation_{1};  // counts the resets, in 1 ... 2^kGenerationBits - 1
};

// Counters over one window. They are spread over stripes, so that threads of different cores rarely
// write to the same cache line. Thread-safe; Add() takes no lock and allocates nothing.
class WindowCounters {
 public:
  WindowCounters(absl::Duration window, int num_counters);

  // Adds one to the counter of this index.
  void Add(absl::Time now, int counter) { Add(window_.At(now), counter); }
  void Add(SlidingWindow::Slice slice, int counter);
  // Returns the sum of each counter over the window that ends at `now`.
  std::vector<int64_t> Sums(absl::Time now) const;
  // Sets all to zero. An Add() that runs meanwhile may count or not.
  void Reset() { window_.Reset(); }

  const SlidingWindow& window() const { return window_; }

 private:
  // The tag of the slice in the upper half, the count in the lower.
  using Cell = std::atomic<uint64_t>;

  const Cell* CellsOf(int stripe, int slot) const {
    return &cells_[(static_cast<size_t>(stripe) * SlidingWindow::kSlots + slot) * stride_];
  }

  SlidingWindow window_;
  const int num_counters_;
  const int num_stripes_;
  const size_t stride_;  // num_counters_ in whole cache lines
  const std::unique_ptr<Cell[]> cells_;
};

}  // namespace tessera::serving
