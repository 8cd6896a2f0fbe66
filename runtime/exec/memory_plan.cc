#include "runtime/exec/memory_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/exec/planned_memory.h"
#include "runtime/exec/shape_cache.h"

namespace tessera {
namespace {

// The number of outputs that get a place, the largest ones. Planning takes quadratic time, about a
// millisecond for this many.
constexpr size_t kMaxPlaces = 1024;
// For fewer or smaller outputs the heap is faster than a plan.
constexpr size_t kMinPlaces = 8;
constexpr size_t kMinBytes = size_t{1} << 20;

// The bytes [begin, end).
struct Range {
  size_t begin, end;
};

// Removes `range` from the ranges. Returns whether they contained any of it.
bool Subtract(const Range& range, std::vector<Range>* from) {
  std::vector<Range> rest;
  bool any = false;
  for (const Range& r : *from) {
    if (range.end <= r.begin || r.end <= range.begin) {
      rest.push_back(r);
      continue;
    }
    any = true;
    if (r.begin < range.begin) rest.push_back({r.begin, range.begin});
    if (range.end < r.end) rest.push_back({range.end, r.end});
  }
  *from = std::move(rest);
  return any;
}

// Returns the beginning of the smallest gap of at least `size` bytes between the ranges `taken`, or
// their end if there is none.
size_t BestGap(std::vector<Range> taken, size_t size) {
  std::sort(taken.begin(), taken.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  size_t best = 0, best_size = std::numeric_limits<size_t>::max(), end = 0;
  for (const Range& range : taken) {
    if (range.begin > end && range.begin - end >= size && range.begin - end < best_size) {
      best = end;
      best_size = range.begin - end;
    }
    end = std::max(end, range.end);
  }
  return best_size == std::numeric_limits<size_t>::max() ? end : best;
}

// Returns the indices of the uses that get a place, the largest first.
std::vector<uint32_t> LargestUses(absl::Span<const MemoryUse> uses) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < uses.size(); ++i) {
    if (uses[i].size > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return uses[a].size > uses[b].size; });
  if (order.size() > kMaxPlaces) order.resize(kMaxPlaces);
  return order;
}

}  // namespace

MemoryPlan::MemoryPlan(std::vector<Shape> shapes, absl::Span<const MemoryUse> uses)
    : shapes_(std::move(shapes)) {
  SetOffsets(uses);
  if (size_ > 0) SetPredecessors();
}

bool MemoryPlan::Fits(absl::Span<const Tensor> args) const { return HaveShapes(args, shapes_); }

void MemoryPlan::SetOffsets(absl::Span<const MemoryUse> uses) {
  const std::vector<uint32_t> order = LargestUses(uses);
  size_t bytes = 0;
  for (const uint32_t i : order) bytes += uses[i].size;
  if (order.size() < kMinPlaces && bytes < kMinBytes) return;
  places_.resize(uses.size());
  std::vector<Range> taken;
  for (size_t n = 0; n < order.size(); ++n) {
    const MemoryUse& use = uses[order[n]];
    taken.clear();
    for (size_t other = 0; other < n; ++other) {
      const MemoryUse& placed = uses[order[other]];
      if (placed.first > use.last || use.first > placed.last) continue;
      const Place& place = places_[order[other]];
      taken.push_back({place.offset, place.offset + PlannedMemory::BytesFor(place.size)});
    }
    Place& place = places_[order[n]];
    place.size = use.size;
    place.offset = BestGap(taken, PlannedMemory::BytesFor(use.size));
    size_ = std::max(size_, place.offset + PlannedMemory::BytesFor(use.size));
  }
}

void MemoryPlan::SetPredecessors() {
  std::vector<uint32_t> before;  // places that have bytes, in the order of nodes
  for (uint32_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    if (place.size == 0) continue;
    place.first_predecessor = static_cast<uint32_t>(predecessors_.size());
    std::vector<Range> left = {{place.offset, place.offset + PlannedMemory::BytesFor(place.size)}};
    for (auto it = before.rbegin(); it != before.rend() && !left.empty(); ++it) {
      const Place& other = places_[*it];
      if (Subtract({other.offset, other.offset + PlannedMemory::BytesFor(other.size)}, &left)) {
        predecessors_.push_back(*it);
      }
    }
    place.num_predecessors = static_cast<uint32_t>(predecessors_.size()) - place.first_predecessor;
    before.push_back(i);
  }
}

}  // namespace tessera
