// XlaDot and XlaDotV2: matrix products over any dimensions.
#include <algorithm>
#include <numeric>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/xla/accumulation.h"
#include "xla/xla_data.pb.h"

namespace tessera {
namespace {

using Dims = std::vector<int64_t>;

// The dimensions of an operand by their roles.
struct Operand {
  Dims batch, contracting, free;

  // Errors: INVALID_ARGUMENT unless `batch` and `contracting` are distinct dimensions. The others
  // become free.
  absl::Status FindFree(const Shape& shape, absl::string_view name) {
    std::vector<int> uses(shape.rank(), 0);
    for (const Dims* dims : {&batch, &contracting}) {
      for (const int64_t d : *dims) {
        if (d < 0 || d >= shape.rank() || ++uses[d] > 1) {
          return absl::InvalidArgumentError(absl::StrCat("dimension number ", d, " of ", name,
                                                         " is named twice, or is none of ",
                                                         shape.ToString()));
        }
      }
    }
    for (int d = 0; d < shape.rank(); ++d) {
      if (uses[d] == 0) free.push_back(d);
    }
    return absl::OkStatus();
  }
};

// Only a shape without elements has dimensions whose product overflows; it is 0 then.
int64_t SizeOf(const Shape& shape, const Dims& dims) {
  int64_t size = 1;
  for (const int64_t d : dims) {
    if (__builtin_mul_overflow(size, shape.dim(static_cast<int>(d)), &size)) return 0;
  }
  return size;
}

// The positions of the elements of a tensor when its dimensions are in the order of `dims`.
Dims Positions(const Shape& shape, const Dims& dims) {
  Dims steps(shape.rank(), 1);
  for (int d = shape.rank() - 2; d >= 0; --d) steps[d] = steps[d + 1] * shape.dim(d + 1);
  Dims positions{0};
  for (const int64_t d : dims) {
    Dims next;
    next.reserve(positions.size() * shape.dim(static_cast<int>(d)));
    for (const int64_t start : positions) {
      for (int64_t i = 0; i < shape.dim(static_cast<int>(d)); ++i) {
        next.push_back(start + i * steps[d]);
      }
    }
    positions = std::move(next);
  }
  return positions;
}

Dims Join(const Dims& a, const Dims& b, const Dims& c) {
  Dims joined = a;
  joined.insert(joined.end(), b.begin(), b.end());
  joined.insert(joined.end(), c.begin(), c.end());
  return joined;
}

// Output: the batch dimensions, the free ones of lhs, and those of rhs.
// Errors: INVALID_ARGUMENT for dimension numbers or sizes that do not fit.
class DotKernel final : public OpKernel {
 public:
  explicit DotKernel(const KernelBuild& build) {
    xla::DotDimensionNumbers numbers;
    if (!numbers.ParseFromString(build.attr<std::string>("dimension_numbers"))) {
      build.Fail(absl::InvalidArgumentError("dimension_numbers cannot be parsed"));
    }
    const auto copy = [](const auto& dims) { return Dims(dims.begin(), dims.end()); };
    lhs_ = {copy(numbers.lhs_batch_dimensions()), copy(numbers.lhs_contracting_dimensions()), {}};
    rhs_ = {copy(numbers.rhs_batch_dimensions()), copy(numbers.rhs_contracting_dimensions()), {}};
    if (lhs_.batch.size() != rhs_.batch.size() ||
        lhs_.contracting.size() != rhs_.contracting.size()) {
      build.Fail(absl::InvalidArgumentError(
          "lhs and rhs must have as many batch dimensions and as many contracting ones"));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Shape& a = ctx.input(0).shape();
    const Shape& b = ctx.input(1).shape();
    Operand lhs = lhs_, rhs = rhs_;
    RETURN_IF_ERROR(lhs.FindFree(a, "lhs"));
    RETURN_IF_ERROR(rhs.FindFree(b, "rhs"));
    RETURN_IF_ERROR(CheckEqual(a, lhs.batch, b, rhs.batch));
    RETURN_IF_ERROR(CheckEqual(a, lhs.contracting, b, rhs.contracting));
    Dims sizes;
    for (const int64_t d : lhs.batch) sizes.push_back(a.dim(static_cast<int>(d)));
    for (const int64_t d : lhs.free) sizes.push_back(a.dim(static_cast<int>(d)));
    for (const int64_t d : rhs.free) sizes.push_back(b.dim(static_cast<int>(d)));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(sizes));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    const Dims a_order = Positions(a, Join(lhs.batch, lhs.free, lhs.contracting));
    const Dims b_order = Positions(b, Join(rhs.batch, rhs.contracting, rhs.free));
    const int64_t batch = SizeOf(a, lhs.batch), m = SizeOf(a, lhs.free);
    const int64_t k = SizeOf(a, lhs.contracting), n = SizeOf(b, rhs.free);
    return VisitSumType(output->dtype(), [&]<typename Sum>() -> absl::Status {
      ASSIGN_OR_RETURN(const Tensor left, Widened<Sum>(ctx, ctx.input(0), a_order));
      ASSIGN_OR_RETURN(const Tensor right, Widened<Sum>(ctx, ctx.input(1), b_order));
      ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DTypeOf<Sum>, shape));
      using Matrix = Eigen::Matrix<Sum, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
      ctx.ParallelFor(batch, 2.0 * static_cast<double>(m * k * n), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Eigen::Map<const Matrix> x(left.data<Sum>() + i * m * k, m, k);
          const Eigen::Map<const Matrix> y(right.data<Sum>() + i * k * n, k, n);
          Eigen::Map<Matrix>(sums.data<Sum>() + i * m * n, m, n).noalias() = x * y;
        }
      });
      return Narrow<Sum>(sums, output);
    });
  }

 private:
  static absl::Status CheckEqual(const Shape& a, const Dims& of_a, const Shape& b,
                                 const Dims& of_b) {
    for (size_t i = 0; i < of_a.size(); ++i) {
      const int64_t size = a.dim(static_cast<int>(of_a[i]));
      if (size == b.dim(static_cast<int>(of_b[i]))) continue;
      return absl::InvalidArgumentError(absl::StrCat("dimension ", of_a[i], " of lhs, of shape ",
                                                     a.ToString(), ", does not fit dimension ",
                                                     of_b[i], " of rhs, of shape ", b.ToString()));
    }
    return absl::OkStatus();
  }

  Operand lhs_, rhs_;
};
REGISTER_KERNEL("XlaDot", kCpu, DotKernel);
REGISTER_KERNEL("XlaDotV2", kCpu, DotKernel);

}  // namespace
}  // namespace tessera
