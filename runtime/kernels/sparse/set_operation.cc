// Operations on sets: DenseToDenseSetOperation and its sparse forms, SetSize.
#include <algorithm>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/sparse/sparse_tensor.h"

namespace tessera {
namespace {

// A set of a tensor whose last dimension holds sets: which one it is in row-major order of the
// dimensions before the last, and its elements, sorted and without repetition.
template <typename T>
struct NumberedSet {
  int64_t number;
  std::vector<T> elements;
};

// All sets of a dense tensor in their order; of a sparse one those that have elements, in the order
// of its values: a set whose values do not follow each other is there several times.
template <typename T>
using Sets = std::vector<NumberedSet<T>>;

// Returns the dimensions that number the sets. Errors: INVALID_ARGUMENT if the shape has no
// dimension for elements besides, or is too large.
absl::StatusOr<Shape> OuterShape(absl::Span<const int64_t> shape) {
  if (shape.size() < 2) {
    return absl::InvalidArgumentError("sets need two dimensions or more: the last one holds them");
  }
  return Shape::Make(shape.subspan(0, shape.size() - 1));
}

// Errors: RESOURCE_EXHAUSTED if there are many sets without elements: a tensor that holds nothing
// must not ask for more time and memory than one call has.
absl::Status CheckCount(const Shape& outer, const Tensor& sets) {
  constexpr int64_t kMostEmptySets = int64_t{1} << 22;
  if (outer.num_elements() <= std::max(kMostEmptySets, sets.num_elements())) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat("there are ", outer.num_elements(), " sets"));
}

template <typename T>
void SortElements(Sets<T>* sets) {
  for (NumberedSet<T>& set : *sets) {
    std::sort(set.elements.begin(), set.elements.end());
    set.elements.erase(std::unique(set.elements.begin(), set.elements.end()), set.elements.end());
  }
}

template <typename T>
Sets<T> ReadDense(const Tensor& tensor, int64_t count) {
  const int64_t size = tensor.dim(tensor.rank() - 1);
  Sets<T> sets(count);
  const T* values = tensor.data<T>();
  for (size_t i = 0; i < sets.size(); ++i, values += size) {
    sets[i].number = static_cast<int64_t>(i);
    sets[i].elements.assign(values, values + size);
  }
  SortElements(&sets);
  return sets;
}

// Requires positions that lie in the shape.
template <typename T>
Sets<T> ReadSparse(const SparseTensor& sparse) {
  Sets<T> sets;
  for (int64_t n = 0; n < sparse.count(); ++n) {
    int64_t number = 0;
    for (int d = 0; d + 1 < sparse.rank(); ++d) {
      number = number * sparse.shape[d] + sparse.index(n)[d];
    }
    if (sets.empty() || sets.back().number != number) sets.push_back({number, {}});
    sets.back().elements.push_back(sparse.values.data<T>()[n]);
  }
  SortElements(&sets);
  return sets;
}

// The sparse tensor of inputs i, i + 1 and i + 2. Errors: INVALID_ARGUMENT for positions that are
// to be validated and lie outside the shape or are not in order, INTERNAL, as in TensorFlow, for
// others that lie outside the shape.
absl::StatusOr<SparseTensor> SparseInput(const KernelContext& ctx, int i, bool validate) {
  ASSIGN_OR_RETURN(SparseTensor sparse, SparseTensor::Input(ctx, i));
  RETURN_IF_ERROR(OuterShape(sparse.shape).status());
  if (validate) {
    RETURN_IF_ERROR(sparse.CheckOrdered());
  } else if (const absl::Status status = sparse.CheckInBounds(); !status.ok()) {
    return absl::InternalError(status.message());
  }
  return sparse;
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
    SparseTensor a, b;
    if (sparse_first_) {
      ASSIGN_OR_RETURN(a, SparseInput(ctx, 0, validate_));
    }
    if (sparse_second_) {
      ASSIGN_OR_RETURN(b, SparseInput(ctx, second, validate_));
    }
    const auto a_shape = sparse_first_ ? absl::MakeConstSpan(a.shape) : ctx.input(0).shape().dims();
    const auto b_shape =
        sparse_second_ ? absl::MakeConstSpan(b.shape) : ctx.input(second).shape().dims();
    ASSIGN_OR_RETURN(const Shape outer, OuterShape(a_shape));
    ASSIGN_OR_RETURN(const Shape outer_of_b, OuterShape(b_shape));
    if (!(outer == outer_of_b)) {
      return absl::InvalidArgumentError(
          "both inputs must agree in all dimensions but the last one");
    }
    if (!sparse_first_) RETURN_IF_ERROR(CheckCount(outer, ctx.input(0)));
    return VisitSetType(
        ctx.input(sparse_first_ ? 1 : 0).dtype(), [&]<typename T>() -> absl::Status {
          const int64_t count = outer.num_elements();
          const Sets<T> of_a = sparse_first_ ? ReadSparse<T>(a) : ReadDense<T>(ctx.input(0), count);
          const Sets<T> of_b =
              sparse_second_ ? ReadSparse<T>(b) : ReadDense<T>(ctx.input(second), count);
          return Write(ctx, outer, Combine(of_a, of_b));
        });
  }

 private:
  // Walks through both as TensorFlow does, so that sets out of order give what they give there: the
  // set with the lower number comes next, or both if they are the same one. Beside dense sets, a
  // sparse one that has a lower number than they is never reached, nor are those behind it.
  template <typename T>
  Sets<T> Combine(const Sets<T>& a, const Sets<T>& b) const {
    static const std::vector<T> none;
    Sets<T> results;
    size_t i = 0, j = 0;
    while (i < a.size() || (sparse_first_ && j < b.size())) {
      const bool only_b =
          i == a.size() || (sparse_first_ && j < b.size() && b[j].number < a[i].number);
      const bool takes_b = only_b || (j < b.size() && b[j].number == a[i].number);
      const int64_t number = only_b ? b[j].number : a[i].number;
      const std::vector<T>& x = only_b ? none : a[i++].elements;
      const std::vector<T>& y = takes_b ? b[j++].elements : none;
      results.push_back({number, Combine(x, y)});
    }
    return results;
  }

  template <typename T>
  std::vector<T> Combine(const std::vector<T>& x, const std::vector<T>& y) const {
    std::vector<T> result;
    const auto to = std::back_inserter(result);
    if (operation_ == "a-b") {
      std::set_difference(x.begin(), x.end(), y.begin(), y.end(), to);
    } else if (operation_ == "b-a") {
      std::set_difference(y.begin(), y.end(), x.begin(), x.end(), to);
    } else if (operation_ == "union") {
      std::set_union(x.begin(), x.end(), y.begin(), y.end(), to);
    } else {
      std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), to);
    }
    return result;
  }

  template <typename T>
  static absl::Status Write(KernelContext& ctx, const Shape& outer, const Sets<T>& results) {
    int64_t total = 0, widest = 0;
    for (const NumberedSet<T>& set : results) {
      const auto size = static_cast<int64_t>(set.elements.size());
      total += size;
      widest = std::max(widest, size);
    }
    IndexVector shape(outer.dims().begin(), outer.dims().end());
    shape.push_back(widest);
    ASSIGN_OR_RETURN(const SparseOutput output, AllocateSparse(ctx, 0, total, shape));
    int64_t* index = output.indices->data<int64_t>();
    T* value = output.values->data<T>();
    for (const NumberedSet<T>& set : results) {
      for (size_t i = 0; i < set.elements.size(); ++i) {
        int64_t rest = set.number;
        for (int d = outer.rank(); d-- > 0;) {
          index[d] = rest % outer.dim(d);
          rest /= outer.dim(d);
        }
        index[outer.rank()] = static_cast<int64_t>(i);
        index += shape.size();
        *value++ = set.elements[i];
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

// How many different elements each set has. Of a set whose values do not follow each other, those
// that do so last are counted, as in TensorFlow.
class SetSizeKernel : public OpKernel {
 public:
  explicit SetSizeKernel(const KernelBuild& build)
      : validate_(build.attr<bool>("validate_indices")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor sparse, SparseInput(ctx, 0, validate_));
    ASSIGN_OR_RETURN(const Shape outer, OuterShape(sparse.shape));
    RETURN_IF_ERROR(CheckCount(outer, ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, outer));
    std::fill_n(output->data<int32_t>(), output->num_elements(), 0);
    return VisitSetType(ctx.input(1).dtype(), [&]<typename T>() {
      for (const NumberedSet<T>& set : ReadSparse<T>(sparse)) {
        output->data<int32_t>()[set.number] = static_cast<int32_t>(set.elements.size());
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
