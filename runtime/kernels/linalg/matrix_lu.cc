// Lu: triangular factors of square matrices.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "Eigen/LU"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/linalg/first_error.h"
#include "runtime/kernels/linalg/matrix_batch.h"
#include "runtime/kernels/linalg/singular.h"
#include "runtime/kernels/linalg/small_lu.h"

namespace tessera {
namespace {

template <typename T>
using RowMajorMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Outputs: lower and upper factors in one matrix, and which row of the input each of its rows is.
// Errors: INVALID_ARGUMENT for matrices that are not square, or singular.
class LuKernel : public OpKernel {
 public:
  explicit LuKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "input", true));
    ASSIGN_OR_RETURN(const Shape p_shape, MatrixBatch::ShapeOf(x, {batch.rows}));
    ASSIGN_OR_RETURN(Tensor * factors, ctx.AllocateOutput(0, x.shape()));
    ASSIGN_OR_RETURN(Tensor * p, ctx.AllocateOutput(1, p_shape));
    if (p->num_elements() == 0) return absl::OkStatus();
    FirstError error;
    RETURN_IF_ERROR(VisitLinearType(x.dtype(), [&]<typename T, typename C>() {
      ctx.ParallelFor(batch.count, batch.Cost() / 3, [&](int64_t begin, int64_t end) {
        RowMajorMatrix<C> matrix(batch.rows, batch.rows);
        std::vector<int64_t> order(batch.rows);
        for (int64_t i = begin; i < end; ++i) {
          const int64_t first = i * matrix.size();
          std::transform(x.data<T>() + first, x.data<T>() + first + matrix.size(), matrix.data(),
                         [](T element) { return static_cast<C>(element); });
          Factor(&matrix, &order);
          if (IsSingular(matrix)) return error.Set(SingularError());
          std::transform(matrix.data(), matrix.data() + matrix.size(), factors->data<T>() + first,
                         [](C element) { return static_cast<T>(element); });
          VisitIndexType(p->dtype(), [&]<typename I>() {
            std::copy(order.begin(), order.end(), p->data<I>() + i * batch.rows);
          });
        }
      });
      return absl::OkStatus();
    }));
    return error.Get();
  }

 private:
  template <typename C>
  static void Factor(RowMajorMatrix<C>* matrix, std::vector<int64_t>* order) {
    const int64_t n = matrix->rows();
    if constexpr (std::is_floating_point_v<C>) {
      if (n <= kMaxSmallLu) return SmallLu(n, matrix->data(), order->data());
    }
    const Eigen::PartialPivLU<Matrix<C>> lu(*matrix);
    *matrix = lu.matrixLU();
    const auto& moved_to = lu.permutationP().indices();
    for (int64_t r = 0; r < n; ++r) (*order)[moved_to[r]] = r;
  }
};
REGISTER_KERNEL("Lu", kCpu, LuKernel);

}  // namespace
}  // namespace tessera
