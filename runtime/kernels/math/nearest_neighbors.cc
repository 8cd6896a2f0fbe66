// NearestNeighbors: for each point the closest centers, by squared Euclidean distance.
#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// Inputs: points [n, d], centers [m, d], k. Outputs the indices of the min(k, m) closest centers of
// each point, closest first, and their squared distances.
class NearestNeighborsKernel : public OpKernel {
 public:
  explicit NearestNeighborsKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& points = ctx.input(0);
    const Tensor& centers = ctx.input(1);
    if (points.rank() != 2 || centers.rank() != 2 || ctx.input(2).rank() != 0 ||
        points.dim(1) != centers.dim(1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "points and centers must be matrices of one width, and k a scalar; they have shapes ",
          points.shape().ToString(), ", ", centers.shape().ToString(), " and ",
          ctx.input(2).shape().ToString()));
    }
    if (points.dim(0) == 0) {
      return absl::InvalidArgumentError("there must be at least one point, there is none");
    }
    const int64_t asked = ctx.input(2).scalar<int64_t>();
    if (asked < 0)
      return absl::InvalidArgumentError(absl::StrCat("k must not be negative, is ", asked));
    const int64_t width = points.dim(1), k = std::min(asked, centers.dim(0));
    // Centers without coordinates are equally near, and the first ones are taken.
    const int64_t m = width == 0 ? k : centers.dim(0);
    ASSIGN_OR_RETURN(Tensor* const indices, ctx.AllocateOutput(0, Shape{points.dim(0), k}));
    ASSIGN_OR_RETURN(Tensor* const distances, ctx.AllocateOutput(1, Shape{points.dim(0), k}));
    // Points without coordinates take no memory, and there may be any number of them.
    if (indices->num_elements() == 0) return absl::OkStatus();
    const double cost = static_cast<double>(2 * m * (width + 4));
    ctx.ParallelFor(points.dim(0), cost, [&](int64_t begin, int64_t end) {
      std::vector<float> squares(m);
      std::vector<int64_t> order(m);
      for (int64_t p = begin; p < end; ++p) {
        const float* const point = points.data<float>() + p * width;
        for (int64_t c = 0; c < m; ++c) {
          const float* const center = centers.data<float>() + c * width;
          squares[c] = std::inner_product(point, point + width, center, 0.0f, std::plus<>(),
                                          [](float x, float y) { return (x - y) * (x - y); });
        }
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t x, int64_t y) {
          return squares[x] != squares[y] ? squares[x] < squares[y] : x < y;
        });
        for (int64_t i = 0; i < k; ++i) {
          indices->data<int64_t>()[p * k + i] = order[i];
          distances->data<float>()[p * k + i] = squares[order[i]];
        }
      }
    });
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("NearestNeighbors", kCpu, NearestNeighborsKernel).HostMemory("k");

}  // namespace
}  // namespace tessera
