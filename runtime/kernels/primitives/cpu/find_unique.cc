#include "runtime/kernels/primitives/find_unique.h"

#include <algorithm>
#include <bit>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/index_type.h"
#include "runtime/kernels/primitives/number_key.h"

namespace tessera {
namespace {

// Elements of rows are compared as numbers. Single numbers of 16 bits are compared by their bits;
// see number_key.h.
template <typename T>
auto AsNumber(const T& value) {
  if constexpr (std::is_same_v<Key<T>, HalfKey>) {
    return static_cast<float>(value);
  } else {
    return AsKey(value);
  }
}

// A row of `size` elements, compared element by element.
template <typename T>
struct Row {
  const T* data;
  int64_t size;
  friend bool operator==(const Row& a, const Row& b) {
    for (int64_t i = 0; i < a.size; ++i) {
      if (!(AsNumber(a.data[i]) == AsNumber(b.data[i]))) return false;
    }
    return true;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Row& row) {
    for (int64_t i = 0; i < row.size; ++i) h = H::combine(std::move(h), AsNumber(row.data[i]));
    return h;
  }
};

// Writes the number of the distinct key that each of `count` keys equals, and returns the position
// of the first occurrence of each distinct key. The hash table holds these numbers, and compares
// the keys at their positions.
template <typename KeyOf, typename Index>
std::vector<int64_t> FindDistinct(int64_t count, const KeyOf& key_of, Index* which) {
  constexpr int64_t kNone = -1;
  const uint64_t mask = std::bit_ceil(2 * static_cast<uint64_t>(count)) - 1;
  std::vector<int64_t> firsts, slots(mask + 1, kNone);
  const absl::Hash<decltype(key_of(0))> hash;
  for (int64_t i = 0; i < count; ++i) {
    const auto key = key_of(i);
    uint64_t at = hash(key) & mask;
    while (slots[at] != kNone && !(key_of(firsts[slots[at]]) == key)) at = (at + 1) & mask;
    if (slots[at] == kNone) {
      slots[at] = static_cast<int64_t>(firsts.size());
      firsts.push_back(i);
    }
    which[i] = static_cast<Index>(slots[at]);
  }
  return firsts;
}

// Finds the distinct rows of `size` elements.
template <typename T, typename Index>
std::vector<int64_t> Find(const T* data, int64_t count, int64_t size, Index* which) {
  if (size == 1) {
    return FindDistinct(
        count, [data](int64_t i) -> MapKey<T> { return AsKey(data[i]); }, which);
  }
  return FindDistinct(
      count,
      [=](int64_t i) {
        return Row<T>{data + i * size, size};
      },
      which);
}

absl::StatusOr<FindUnique::Distinct> RunFindUnique(KernelContext& ctx, const Tensor& rows,
                                                   bool with_counts, Tensor* which) {
  std::vector<int64_t> firsts;
  RETURN_IF_ERROR(VisitComparableType(rows.dtype(), [&]<typename T>() {
    VisitIndexType(which->dtype(), [&]<typename Index>() {
      firsts = Find(rows.data<T>(), rows.dim(0), rows.dim(1), which->data<Index>());
    });
    return absl::OkStatus();
  }));
  const Shape shape{static_cast<int64_t>(firsts.size())};
  FindUnique::Distinct distinct;
  ASSIGN_OR_RETURN(distinct.firsts, ctx.AllocateTemp(DType::kInt64, shape));
  std::copy(firsts.begin(), firsts.end(), distinct.firsts.data<int64_t>());
  if (!with_counts) return distinct;
  ASSIGN_OR_RETURN(distinct.counts, Tensor::Zeros(which->dtype(), shape, ctx.host_allocator()));
  VisitIndexType(which->dtype(), [&]<typename Index>() {
    Index* const counts = distinct.counts.data<Index>();
    for (const Index number : std::as_const(*which).flat<Index>()) ++counts[number];
  });
  return distinct;
}
REGISTER_PRIMITIVE(FindUnique, kCpu, RunFindUnique);

}  // namespace
}  // namespace tessera
