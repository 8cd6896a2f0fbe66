#include "runtime/kernels/sparse/row_major_order.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <utility>

#include "runtime/kernels/sparse/sparse_tensor.h"

namespace tessera {
namespace {

// An index by its place in the dense tensor.
struct Entry {
  int64_t place, number;
};

// Sorts by counting the values of kDigitBits bits at a time, from the lowest.
constexpr int kDigitBits = 11;
void RadixSort(int bits, std::vector<Entry>* entries) {
  constexpr int64_t kMask = (int64_t{1} << kDigitBits) - 1;
  std::vector<Entry> sorted(entries->size());
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    std::vector<size_t> next(kMask + 2, 0);
    for (const Entry& entry : *entries) ++next[(entry.place >> shift & kMask) + 1];
    for (int64_t digit = 0; digit < kMask; ++digit) next[digit + 1] += next[digit];
    for (const Entry& entry : *entries) sorted[next[entry.place >> shift & kMask]++] = entry;
    entries->swap(sorted);
  }
}

// Computes the place of each index. Returns false if one lies outside of the shape, or the dense
// tensor has too many elements to count.
bool FindPlaces(const int64_t* indices, absl::Span<const int64_t> shape,
                std::vector<Entry>* entries) {
  if (!Shape::Make(shape).ok()) return false;
  const size_t rank = shape.size();
  bool fits = true;
  for (size_t i = 0; i < entries->size(); ++i, indices += rank) {
    int64_t place = 0;
    for (size_t d = 0; d < rank; ++d) {
      // The unsigned comparison covers negative coordinates.
      fits &= static_cast<uint64_t>(indices[d]) < static_cast<uint64_t>(shape[d]);
      place = fits ? place * shape[d] + indices[d] : 0;
    }
    (*entries)[i] = {place, static_cast<int64_t>(i)};
  }
  return fits;
}

}  // namespace

std::vector<int64_t> RowMajorOrder(const int64_t* indices, int64_t count,
                                   absl::Span<const int64_t> shape) {
  const int rank = static_cast<int>(shape.size());
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::vector<Entry> entries(count);
  if (!FindPlaces(indices, shape, &entries)) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return CompareIndices(indices + a * rank, indices + b * rank, rank) < 0;
    });
    return order;
  }
  const auto before = [](const Entry& a, const Entry& b) { return a.place < b.place; };
  if (std::is_sorted(entries.begin(), entries.end(), before)) return order;
  int64_t all = 0;
  for (const Entry& entry : entries) all |= entry.place;
  const int bits = std::bit_width(static_cast<uint64_t>(all));
  // A digit costs as much as a few comparisons of each entry, and a table of counts.
  if (count >= 1 << (kDigitBits - 2) && bits <= 4 * kDigitBits) {
    RadixSort(bits, &entries);
  } else {
    std::stable_sort(entries.begin(), entries.end(), before);
  }
  for (int64_t i = 0; i < count; ++i) order[i] = entries[i].number;
  return order;
}

}  // namespace tessera
