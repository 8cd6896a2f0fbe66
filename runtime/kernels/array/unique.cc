// Sets of values in order of first occurrence: Unique, UniqueV2, UniqueWithCounts, ListDiff.
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {
namespace {

// What elements of type T are compared as. Equality is that of numbers: 0 equals -0, NaN nothing.
template <typename T>
struct KeyType {
  using type = T;
};
template <>
struct KeyType<Eigen::half> {
  using type = float;
};
template <>
struct KeyType<Eigen::bfloat16> {
  using type = float;
};
template <typename T>
using Key = typename KeyType<T>::type;

template <typename Visitor>
absl::Status VisitComparableType(DType dtype, Visitor&& visit) {
  if (dtype == DType::kString) return visit.template operator()<std::string>();
  if (dtype == DType::kBool) return visit.template operator()<bool>();
  return VisitRealType(dtype, std::forward<Visitor>(visit));
}

template <typename T>
absl::string_view AsKey(const T& value) requires std::is_same_v<T, std::string> {
  return value;
}
template <typename T>
Key<T> AsKey(const T& value) requires(!std::is_same_v<T, std::string>) {
  return static_cast<Key<T>>(value);
}
template <typename T>
using MapKey = decltype(AsKey(std::declval<const T&>()));

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

// For each of `count` rows of `size` elements, which distinct row it is; *firsts gets where each
// distinct row first stands.
template <typename T>
void FindUnique(const T* data, int64_t count, int64_t size, int64_t* which,
                std::vector<int64_t>* firsts) {
  auto find_all = [&](auto& seen, auto key_of) {
    seen.reserve(std::min<int64_t>(count, 1 << 16));
    for (int64_t i = 0; i < count; ++i) {
      auto [it, fresh] = seen.try_emplace(key_of(i), static_cast<int64_t>(firsts->size()));
      if (fresh) firsts->push_back(i);
      which[i] = it->second;
    }
  };
  if (size == 1) {
    absl::flat_hash_map<MapKey<T>, int64_t> seen;
    find_all(seen, [&](int64_t i) { return AsKey(data[i]); });
  } else {
    absl::flat_hash_map<Row<T>, int64_t> seen;
    find_all(seen, [&](int64_t i) { return Row<T>{data + i * size, size}; });
  }
}

absl::Status WriteIndices(absl::Span<const int64_t> values, Tensor* output) {
  if (output->dtype() == DType::kInt64) {
    std::copy(values.begin(), values.end(), output->data<int64_t>());
  } else {
    if (values.size() > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError("more than 2^31 - 1 elements: set out_idx to int64");
    }
    std::copy(values.begin(), values.end(), output->data<int32_t>());
  }
  return absl::OkStatus();
}

// Outputs: the distinct elements (or slices along an axis), for each element which one it is and,
// in the WithCounts ops, how often each stands there.
class UniqueKernel : public OpKernel {
 public:
  explicit UniqueKernel(const KernelBuild& build) : copy_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    int axis = 0;
    bool by_slice = false;
    if (ctx.num_inputs() > 1) {
      if (ctx.input(1).rank() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("axis must be a vector, has shape ", ctx.input(1).shape().ToString()));
      }
      ASSIGN_OR_RETURN(const IndexVector axes, ReadIndexVector(ctx.input(1), "axis"));
      if (axes.size() > 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("axis must have at most one element, has ", axes.size()));
      }
      if (axes.size() == 1) {
        by_slice = true;
        ASSIGN_OR_RETURN(axis, NormalizeAxis(axes[0], input.rank(), "axis"));
      }
    }
    if (!by_slice && input.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("without an axis, x must be a vector; it has "
                       "shape ",
                       input.shape().ToString()));
    }
    // Slices along the axis, each made one contiguous row.
    const int64_t count = input.dim(axis);
    const int64_t outer = DimProduct(input.shape(), 0, axis);
    const int64_t inner = DimProduct(input.shape(), axis + 1, input.rank());
    Tensor rows = input;
    if (outer != 1 && input.num_elements() > 0) {
      ASSIGN_OR_RETURN(rows, ctx.AllocateTemp(input.dtype(), Shape{count, outer, inner}));
      RETURN_IF_ERROR(copy_(ctx, {count, outer, inner}, input, {{inner, count * inner, 1}}, &rows,
                            {{outer * inner, inner, 1}}));
    }
    ASSIGN_OR_RETURN(Tensor which, ctx.AllocateTemp(DType::kInt64, Shape{count}));
    std::vector<int64_t> firsts;
    RETURN_IF_ERROR(VisitComparableType(input.dtype(), [&]<typename T>() {
      FindUnique(rows.data<T>(), count, outer * inner, which.data<int64_t>(), &firsts);
      return absl::OkStatus();
    }));
    return SetOutputs(ctx, rows, axis, outer, inner, which, firsts);
  }

 private:
  absl::Status SetOutputs(KernelContext& ctx, const Tensor& rows, int axis, int64_t outer,
                          int64_t inner, const Tensor& which,
                          const std::vector<int64_t>& firsts) const {
    const int64_t distinct = static_cast<int64_t>(firsts.size());
    Shape shape = ctx.input(0).shape();
    shape.SetDim(axis, distinct);
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(0, shape));
    for (int64_t i = 0; i < distinct && values->num_elements() > 0; ++i) {
      RETURN_IF_ERROR(copy_(ctx, {outer, inner}, rows, {{inner, 1}, firsts[i] * outer * inner},
                            values, {{distinct * inner, 1}, i * inner}));
    }
    ASSIGN_OR_RETURN(Tensor* const indices, ctx.AllocateOutput(1, which.shape()));
    RETURN_IF_ERROR(WriteIndices(which.flat<int64_t>(), indices));
    if (ctx.num_outputs() < 3) return absl::OkStatus();
    std::vector<int64_t> counts(firsts.size(), 0);
    for (int64_t i : which.flat<int64_t>()) ++counts[i];
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(2, Shape{distinct}));
    return WriteIndices(counts, output);
  }

  const Primitive<StridedCopy> copy_;
};
REGISTER_KERNEL("Unique", kCpu, UniqueKernel);
REGISTER_KERNEL("UniqueV2", kCpu, UniqueKernel);
REGISTER_KERNEL("UniqueWithCounts", kCpu, UniqueKernel);
REGISTER_KERNEL("UniqueWithCountsV2", kCpu, UniqueKernel);

// The elements of x that are not in y, and where they stand in x.
class ListDiffKernel : public OpKernel {
 public:
  explicit ListDiffKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    for (int i : {0, 1}) {
      if (ctx.input(i).rank() != 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            i == 0 ? "x" : "y", " must be a vector, has shape ", ctx.input(i).shape().ToString()));
      }
    }
    return VisitComparableType(ctx.input(0).dtype(), [&]<typename T>() -> absl::Status {
      const auto x = ctx.input(0).flat<T>();
      absl::flat_hash_set<MapKey<T>> excluded;
      for (const T& value : ctx.input(1).flat<T>()) excluded.insert(AsKey(value));
      std::vector<int64_t> kept;
      for (size_t i = 0; i < x.size(); ++i) {
        if (!excluded.contains(AsKey(x[i]))) kept.push_back(static_cast<int64_t>(i));
      }
      const Shape shape{static_cast<int64_t>(kept.size())};
      ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(0, shape));
      auto out = values->flat<T>();
      for (size_t i = 0; i < kept.size(); ++i) out[i] = x[kept[i]];
      ASSIGN_OR_RETURN(Tensor* const indices, ctx.AllocateOutput(1, shape));
      return WriteIndices(kept, indices);
    });
  }
};
REGISTER_KERNEL("ListDiff", kCpu, ListDiffKernel);

}  // namespace
}  // namespace tessera
