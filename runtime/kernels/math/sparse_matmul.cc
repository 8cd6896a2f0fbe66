// SparseMatMul: a product of matrices of which many elements may be zero, of float or bfloat16.
#include <algorithm>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The hints about sparsity change nothing: a dense product is quick enough on zeros.
class SparseMatMulKernel : public OpKernel {
 public:
  explicit SparseMatMulKernel(const KernelBuild& build)
      : transpose_a_(build.attr<bool>("transpose_a")),
        transpose_b_(build.attr<bool>("transpose_b")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    if (a.rank() != 2 || b.rank() != 2 ||
        a.dim(transpose_a_ ? 0 : 1) != b.dim(transpose_b_ ? 1 : 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Matrix size incompatible: a: ", a.shape().ToString(), ", b: ", b.shape().ToString()));
    }
    // Without inner elements the outputs may be more than there are numbers for.
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make({a.dim(transpose_a_ ? 1 : 0), b.dim(transpose_b_ ? 0 : 1)}));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    if (y->num_elements() == 0) return absl::OkStatus();  // a loop over rows may have no end
    const FloatMatrix left = Read(a, transpose_a_), right = Read(b, transpose_b_);
    Eigen::Map<FloatMatrix>(y->data<float>(), left.rows(), right.cols()) = left * right;
    return absl::OkStatus();
  }

 private:
  static FloatMatrix Read(const Tensor& t, bool transpose) {
    FloatMatrix matrix(t.dim(0), t.dim(1));
    if (t.dtype() == DType::kBfloat16) {
      std::copy_n(t.data<Eigen::bfloat16>(), t.num_elements(), matrix.data());
    } else {
      std::copy_n(t.data<float>(), t.num_elements(), matrix.data());
    }
    return transpose ? FloatMatrix(matrix.transpose()) : matrix;
  }

  const bool transpose_a_, transpose_b_;
};
REGISTER_KERNEL("SparseMatMul", kCpu, SparseMatMulKernel);

}  // namespace
}  // namespace tessera
