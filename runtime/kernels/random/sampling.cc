// Draws of positions: RandomCrop, KMC2ChainInitialization.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/random/philox_generator.h"
#include "runtime/kernels/random/simple_random.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// A window of [height, width] at a random place of an image [height, width, channels].
class RandomCropKernel : public OpKernel {
 public:
  explicit RandomCropKernel(const KernelBuild& build) : generator_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& image = ctx.input(0);
    if (image.rank() != 3 || !(ctx.input(1).shape() == Shape{2})) {
      return absl::InvalidArgumentError(absl::StrCat(
          "RandomCrop needs an image of rank 3 and a size of 2 elements, they have shapes ",
          image.shape().ToString(), " and ", ctx.input(1).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const IndexVector size, ReadIndexVector(ctx.input(1), "size"));
    int64_t offset[2] = {0, 0};
    ASSIGN_OR_RETURN(const Philox generator, generator_.Reserve(ctx, 1));
    SimpleRandom random(generator);
    for (const int d : {1, 0}) {  // TensorFlow draws the column first
      if (size[d] < 0 || size[d] > image.dim(d)) {
        return absl::FailedPreconditionError(absl::StrCat("size [", size[0], ", ", size[1],
                                                          "] does not fit an image of shape ",
                                                          image.shape().ToString()));
      }
      if (size[d] < image.dim(d)) {
        offset[d] = static_cast<int64_t>(random.Bits32() %
                                         (static_cast<uint64_t>(image.dim(d) - size[d]) + 1));
      }
    }
    ASSIGN_OR_RETURN(Tensor* const out,
                     ctx.AllocateOutput(0, Shape{size[0], size[1], image.dim(2)}));
    if (out->num_elements() == 0) return absl::OkStatus();
    const size_t pixel = image.dim(2) * DTypeSize(image.dtype());
    for (int64_t row = 0; row < size[0]; ++row) {
      std::memcpy(out->mutable_raw() + row * size[1] * pixel,
                  image.raw() + ((offset[0] + row) * image.dim(1) + offset[1]) * pixel,
                  size[1] * pixel);
    }
    return absl::OkStatus();
  }

 private:
  SeededPhilox generator_;
};
REGISTER_KERNEL("RandomCrop", kCpu, RandomCropKernel);

// The last state of a Markov chain over points, which moves to the next point with a probability
// that grows with its distance (O. Bachem et al., Approximate K-Means++ in Sublinear Time, 2016).
class Kmc2ChainKernel : public OpKernel {
 public:
  explicit Kmc2ChainKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& distances = ctx.input(0);
    const Tensor& seed = ctx.input(1);
    if (distances.rank() != 1 || seed.rank() != 0 || distances.dim(0) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "distances must be a vector with elements and seed a scalar, they have shapes ",
          distances.shape().ToString(), " and ", seed.shape().ToString()));
    }
    SimpleRandom random(Philox(static_cast<uint64_t>(seed.scalar<int64_t>())));
    const auto distance = distances.flat<float>();
    int64_t state = 0;
    for (int64_t next = 1; next < distances.dim(0); ++next) {
      if (distance[next] > random.Float() * distance[state]) state = next;
    }
    return SetScalarOutput<int64_t>(ctx, 0, state);
  }
};
REGISTER_KERNEL("KMC2ChainInitialization", kCpu, Kmc2ChainKernel);

}  // namespace
}  // namespace tessera
