#include "runtime/kernels/primitives/find_unique.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/index_type.h"
#include "runtime/kernels/primitives/number_key.h"

namespace tessera {
namespace {

// A row of `size` elements, compared element by element.
template <typename T>
struct Row {
  const T* data;
  int64_t size;
  friend bool operator==(const Row& a, const Row& b) {
    for (int64_t i = 0; i < a.size; ++i) {
      if (!(AsKey(a.data[i]) == AsKey(b.data[i]))) return false;
    }
    return true;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Row& row) {
    for (int64_t i = 0; i < row.size; ++i) h = H::combine(std::move(h), AsKey(row.data[i]));
    return h;
  }
};

// Writes which distinct row each row is, and returns where each distinct row first stands.
template <typename T, typename Index>
std::vector<int64_t> Find(const T* data, int64_t count, int64_t size, Index* which) {
  std::vector<int64_t> firsts;
  const auto find_all = [&](auto& seen, auto key_of) {
    seen.reserve(std::min<int64_t>(count, 1 << 16));
    for (int64_t i = 0; i < count; ++i) {
      auto [it, fresh] = seen.try_emplace(key_of(i), static_cast<Index>(firsts.size()));
      if (fresh) firsts.push_back(i);
      which[i] = it->second;
    }
  };
  if (size == 1) {
    absl::flat_hash_map<MapKey<T>, Index> seen;
    find_all(seen, [&](int64_t i) { return AsKey(data[i]); });
  } else {
    absl::flat_hash_map<Row<T>, Index> seen;
    find_all(seen, [&](int64_t i) { return Row<T>{data + i * size, size}; });
  }
  return firsts;
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
