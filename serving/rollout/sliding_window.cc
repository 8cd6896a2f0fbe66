#include "serving/rollout/sliding_window.h"

#include <algorithm>

#include "runtime/base/cpu_count.h"

namespace tessera::serving {
namespace {

constexpr int kMaxStripes = 8;
constexpr size_t kCellsPerCacheLine = 64 / sizeof(uint64_t);

size_t ThreadIndex() {
  static std::atomic<size_t> next{0};
  thread_local const size_t index = next.fetch_add(1, std::memory_order_relaxed);
  return index;
}

}  // namespace

SlidingWindow::SlidingWindow(absl::Duration length)
    : slice_nanos_(absl::ToInt64Nanoseconds(std::max(length, absl::Milliseconds(1))) /
                   (kSlots - 1)) {}

SlidingWindow::Slice SlidingWindow::SliceAt(int64_t epoch) const {
  const uint64_t unsigned_epoch = static_cast<uint64_t>(epoch);
  const uint32_t generation = generation_.load(std::memory_order_relaxed);
  return {.slot = static_cast<int>(unsigned_epoch % kSlots),
          .tag = generation << kEpochBits |
                 static_cast<uint32_t>(unsigned_epoch & ((uint64_t{1} << kEpochBits) - 1))};
}

std::array<SlidingWindow::Slice, SlidingWindow::kSlots> SlidingWindow::EndingAt(
    absl::Time now) const {
  const int64_t last = EpochOf(now);
  std::array<Slice, kSlots> slices;
  for (int i = 0; i < kSlots; ++i) slices[i] = SliceAt(last - i);
  return slices;
}

void SlidingWindow::Reset() {
  uint32_t generation = generation_.load(std::memory_order_relaxed);
  uint32_t next;
  do {
    next = generation % ((1u << kGenerationBits) - 1) + 1;
  } while (!generation_.compare_exchange_weak(generation, next, std::memory_order_relaxed));
}

WindowCounters::WindowCounters(absl::Duration window, int num_counters)
    : window_(window),
      num_counters_(num_counters),
      num_stripes_(std::min(AvailableCores(), kMaxStripes)),
      stride_((num_counters + kCellsPerCacheLine - 1) / kCellsPerCacheLine * kCellsPerCacheLine),
      cells_(new Cell[num_stripes_ * SlidingWindow::kSlots * stride_]()) {}

void WindowCounters::Add(SlidingWindow::Slice slice, int counter) {
  const int stripe = static_cast<int>(ThreadIndex() % num_stripes_);
  Cell& cell = const_cast<Cell&>(CellsOf(stripe, slice.slot)[counter]);
  const uint64_t first = uint64_t{slice.tag} << 32 | 1;
  uint64_t value = cell.load(std::memory_order_relaxed);
  while (value >> 32 != slice.tag) {
    if (cell.compare_exchange_weak(value, first, std::memory_order_relaxed)) return;
  }
  cell.fetch_add(1, std::memory_order_relaxed);
}

std::vector<int64_t> WindowCounters::Sums(absl::Time now) const {
  std::vector<int64_t> sums(num_counters_);
  for (const SlidingWindow::Slice& slice : window_.EndingAt(now)) {
    for (int stripe = 0; stripe < num_stripes_; ++stripe) {
      const Cell* cells = CellsOf(stripe, slice.slot);
      for (int i = 0; i < num_counters_; ++i) {
        const uint64_t value = cells[i].load(std::memory_order_relaxed);
        if (value >> 32 == slice.tag) sums[i] += static_cast<int64_t>(value & UINT32_MAX);
      }
    }
  }
  return sums;
}

}  // namespace tessera::serving
