// Operations on sets: DenseToDenseSetOperation and its sparse forms, SetSize.
#include <algorithm>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/sparse/sparse_tensor.h"

namespace tessera {
namespace {

// The last dimension of a tensor holds sets; all before it number them. One row a set, sorted and
// without repetition.
template <typename T>
struct Sets {
  IndexVector shape;  // of the dimensions before the last
  std::vector<std::vector<T>> rows;
};

// Errors: INVALID_ARGUMENT if the shape has no last dimension, or is too large.
absl::StatusOr<int64_t> CountSets(absl::Span<const int64_t> shape) {
  if (shape.size() < 2) {
    return absl::InvalidArgumentError("sets need two dimensions or more: the last one holds them");
  }
  ASSIGN_OR_RETURN(const Shape outer, Shape::Make(shape.subspan(0, shape.size() - 1)));
  constexpr int64_t kMostSets = int64_t{1} << 28;
  if (outer.num_elements() > kMostSets) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", outer.num_elements(), " sets"));
  }
  return outer.num_elements();
}

template <typename T>
void SortRows(Sets<T>* sets) {
  for (std::vector<T>& row : sets->rows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
}

template <typename T>
absl::StatusOr<Sets<T>> ReadDense(const Tensor& tensor) {
  ASSIGN_OR_RETURN(const int64_t count, CountSets(tensor.shape().dims()));
  Sets<T> sets;
  sets.shape.assign(tensor.shape().dims().begin(), tensor.shape().dims().end() - 1);
  sets.rows.resize(count);
  const int64_t size = tensor.dim(tensor.rank() - 1);
  const T* values = tensor.data<T>();
  for (std::vector<T>& row : sets.rows) {
    row.assign(values, values + size);
    values += size;
  }
  SortRows(&sets);
  return sets;
}

template <typename T>
absl::StatusOr<Sets<T>> ReadSparse(const KernelContext& ctx, int i, bool validate) {
  ASSIGN_OR_RETURN(const SparseTensor sparse, SparseTensor::Input(ctx, i));
  ASSIGN_OR_RETURN(const int64_t count, CountSets(sparse.shape));
  RETURN_IF_ERROR(validate ? sparse.CheckOrdered() : sparse.CheckInBounds());
  Sets<T> sets;
  sets.shape.assign(sparse.shape.begin(), sparse.shape.end() - 1);
  sets.rows.resize(count);
  for (int64_t n = 0; n < sparse.count(); ++n) {
    int64_t row = 0;
    for (int d = 0; d + 1 < sparse.rank(); ++d) {
      row = row * sparse.shape[d] + sparse.index(n)[d];
    }
    sets.rows[row].push_back(sparse.values.data<T>()[n]);
  }
  SortRows(&sets);
  return sets;
}

template <typename Visitor>
absl::Status VisitSetType(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kInt8:
      return visit.template operator()<int8_t>();
    case DType::kInt16:
      return visit.template operator()<int16_t>();
    case DType::kInt32:
      return visit.template operator()<int32_t>();
    case DType::kUint8:
      return visit.template operator()<uint8_t>();
    case DType::kUint16:
      return visit.template operator()<uint16_t>();
    case DType::kString:
      return visit.template operator()<std::string>();
    default:
      return visit.template operator()<int64_t>();
  }
}

// Set by set; the result is sparse, each set sorted.
class SetOperationKernel : public OpKernel {
 public:
  explicit SetOperationKernel(const KernelBuild& build)
      : operation_(build.attr<std::string>("set_operation")),
        validate_(build.attr<bool>("validate_indices")),
        sparse_first_(build.op().name == "SparseToSparseSetOperation"),
        sparse_second_(build.op().name != "DenseToDenseSetOperation") {
    if (operation_ != "a-b" && operation_ != "b-a" && operation_ != "intersection" &&
        operation_ != "union") {
      build.Fail(absl::InvalidArgumentError(absl::StrCat(
          "set_operation must be a-b, b-a, intersection or union, is '", operation_, "'")));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const int second = sparse_first_ ? 3 : 1;
    return VisitSetType(
        ctx.input(sparse_first_ ? 1 : 0).dtype(), [&]<typename T>() -> absl::Status {
          absl::StatusOr<Sets<T>> a =
              sparse_first_ ? ReadSparse<T>(ctx, 0, validate_) : ReadDense<T>(ctx.input(0));
          if (!a.ok()) return a.status();
          absl::StatusOr<Sets<T>> b = sparse_second_ ? ReadSparse<T>(ctx, second, validate_)
                                                     : ReadDense<T>(ctx.input(second));
          if (!b.ok()) return b.status();
          return Combine<T>(ctx, *a, *b);
        });
  }

 private:
  template <typename T>
  absl::Status Combine(KernelContext& ctx, const Sets<T>& a, const Sets<T>& b) const {
    if (a.shape != b.shape) {
      return absl::InvalidArgumentError(
          "both inputs must agree in all dimensions but the last one");
    }
    std::vector<std::vector<T>> results(a.rows.size());
    int64_t total = 0, widest = 0;
    for (size_t row = 0; row < results.size(); ++row) {
      const std::vector<T>&x = a.rows[row], &y = b.rows[row];
      auto to = std::back_inserter(results[row]);
      if (operation_ == "a-b") {
        std::set_difference(x.begin(), x.end(), y.begin(), y.end(), to);
      } else if (operation_ == "b-a") {
        std::set_difference(y.begin(), y.end(), x.begin(), x.end(), to);
      } else if (operation_ == "union") {
        std::set_union(x.begin(), x.end(), y.begin(), y.end(), to);
      } else {
        std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), to);
      }
      total += static_cast<int64_t>(results[row].size());
      widest = std::max(widest, static_cast<int64_t>(results[row].size()));
    }
    IndexVector shape = a.shape;
    shape.push_back(widest);
    ASSIGN_OR_RETURN(const SparseOutput output, AllocateSparse(ctx, 0, total, shape));
    int64_t* index = output.indices->data<int64_t>();
    T* value = output.values->data<T>();
    for (size_t row = 0; row < results.size(); ++row) {
      for (size_t i = 0; i < results[row].size(); ++i) {
        int64_t rest = static_cast<int64_t>(row);
        for (size_t d = a.shape.size(); d-- > 0;) {
          index[d] = rest % a.shape[d];
          rest /= a.shape[d];
        }
        index[a.shape.size()] = static_cast<int64_t>(i);
        index += shape.size();
        *value++ = results[row][i];
      }
    }
    return absl::OkStatus();
  }

  const std::string operation_;
  const bool validate_, sparse_first_, sparse_second_;
};
REGISTER_KERNEL("DenseToDenseSetOperation", kCpu, SetOperationKernel);
REGISTER_KERNEL("DenseToSparseSetOperation", kCpu, SetOperationKernel);
REGISTER_KERNEL("SparseToSparseSetOperation", kCpu, SetOperationKernel);

// How many different elements each set has.
class SetSizeKernel : public OpKernel {
 public:
  explicit SetSizeKernel(const KernelBuild& build)
      : validate_(build.attr<bool>("validate_indices")) {}
  absl::Status Compute(KernelContext& ctx) override {
    return VisitSetType(ctx.input(1).dtype(), [&]<typename T>() -> absl::Status {
      ASSIGN_OR_RETURN(const Sets<T> sets, ReadSparse<T>(ctx, 0, validate_));
      ASSIGN_OR_RETURN(Tensor* const output,
                       ctx.AllocateOutput(0, Shape(absl::Span<const int64_t>(sets.shape))));
      for (size_t row = 0; row < sets.rows.size(); ++row) {
        output->data<int32_t>()[row] = static_cast<int32_t>(sets.rows[row].size());
      }
      return absl::OkStatus();
    });
  }

 private:
  const bool validate_;
};
REGISTER_KERNEL("SetSize", kCpu, SetSizeKernel);

}  // namespace
}  // namespace tessera
