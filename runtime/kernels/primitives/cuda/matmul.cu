// MatMul, by cuBLASLt where that has the dtype, else by a tiled kernel. Where it is allowed,
// products by constant weights are made of numbers of 8 bits.
#include <optional>

#include "runtime/kernels/primitives/cuda/activate.h"
#include "runtime/kernels/primitives/cuda/epilogue.h"
#include "runtime/kernels/primitives/cuda/fp8.h"
#include "runtime/kernels/primitives/cuda/product_library.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"
#include "runtime/kernels/primitives/device_constant.h"
#include "runtime/kernels/primitives/matmul.h"

namespace tessera::cuda {
namespace {

// A block computes a tile of kTile x kTile elements of one matrix.
constexpr int kTile = 16;
static_assert(kTile * kTile == kBlockThreads);

struct MatMulWork {
  int64_t m, n, k;
  bool transpose_a, transpose_b, conjugate_a, conjugate_b;
  int64_t row_tiles, column_tiles, tiles;
  StridedBox<2> batch;  // strides in matrices of a and b
};

template <typename A>
__device__ A ConjugateIf(bool conjugate, A x) {
  if constexpr (std::is_arithmetic_v<A>) {
    return x;
  } else {
    return conjugate ? device_std::conj(x) : x;
  }
}

template <typename A>
__global__ void MultiplyTiles(MatMulWork w, Input<A> a, Input<A> b, Epilogue<A> epilogue,
                              Output<A> output) {
  __shared__ typename std::aligned_storage<sizeof(A), alignof(A)>::type a_memory[kTile * kTile],
      b_memory[kTile * kTile];
  A* const a_tile = reinterpret_cast<A*>(a_memory);
  A* const b_tile = reinterpret_cast<A*>(b_memory);
  const int x = threadIdx.x % kTile, y = threadIdx.x / kTile;
  for (int64_t t = blockIdx.x; t < w.tiles; t += gridDim.x) {
    const int64_t matrix = t / (w.row_tiles * w.column_tiles);
    const int64_t row = t / w.column_tiles % w.row_tiles * kTile + y;
    const int64_t column = t % w.column_tiles * kTile + x;
    int64_t at[2];
    w.batch.Offsets(matrix, at);
    const int64_t a_base = at[0] * w.m * w.k, b_base = at[1] * w.k * w.n;
    A sum{};
    for (int64_t first = 0; first < w.k; first += kTile) {
      const int64_t ka = first + x, kb = first + y;
      a_tile[y * kTile + x] =
          row < w.m && ka < w.k
              ? ConjugateIf(w.conjugate_a,
                            a[a_base + (w.transpose_a ? ka * w.m + row : row * w.k + ka)])
              : A{};
      b_tile[y * kTile + x] =
          column < w.n && kb < w.k
              ? ConjugateIf(w.conjugate_b,
                            b[b_base + (w.transpose_b ? column * w.k + kb : kb * w.n + column)])
              : A{};
      __syncthreads();
      // Beyond k the operands may not be multiplied: an infinity by 0 would be NaN.
      const int64_t rest = w.k - first;
      for (int i = 0; i < (rest < kTile ? rest : kTile); ++i) {
        sum += a_tile[y * kTile + i] * b_tile[i * kTile + x];
      }
      __syncthreads();
    }
    if (row >= w.m || column >= w.n) continue;
    epilogue.Store(sum, column, (matrix * w.m + row) * w.n + column, output);
  }
}

absl::StatusOr<StridedBox<2>> BatchBox(const MatMulShape& shape) {
  StridedOperands operands(shape.batch);
  operands.Add(nullptr, shape.a_stride);
  operands.Add(nullptr, shape.b_stride);
  operands.Coalesce();
  return MakeStridedBox<2>(operands);
}

absl::Status MultiplyByTiles(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                             const Tensor& a, const Tensor& b, const Tensor* bias, Tensor* output) {
  MatMulWork work{shape.m,
                  shape.n,
                  shape.k,
                  shape.transpose_a,
                  shape.transpose_b,
                  shape.conjugate_a,
                  shape.conjugate_b,
                  0,
                  0,
                  0,
                  {}};
  work.row_tiles = (shape.m + kTile - 1) / kTile;
  work.column_tiles = (shape.n + kTile - 1) / kTile;
  work.tiles = work.row_tiles * work.column_tiles * shape.batch_size();
  ASSIGN_OR_RETURN(work.batch, BatchBox(shape));
  return VisitComputeType<kNumeric>(output->dtype(), [&]<typename A>() {
    return LaunchBlocks(ctx, work.tiles, MultiplyTiles<A>, work, Input<A>(a), Input<A>(b),
                        Epilogue<A>(post_ops, bias, output->dtype()), Output<A>(output));
  });
}

// Applies the bias and the activation to products of `columns` columns.
__global__ void FinishElements(int64_t count, int64_t columns, Epilogue<float> epilogue,
                               Output<float> output) {
  // The epilogue adds what is there.
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    epilogue.Store(0, i % columns, i, output);
  }
}

absl::Status FinishProducts(KernelContext& ctx, const PostOps& post_ops, const Tensor* bias,
                            int64_t columns, Tensor* output) {
  if (bias == nullptr && post_ops.activation == Activation::kNone) return absl::OkStatus();
  PostOps rest = post_ops;
  rest.add = true;
  return LaunchItems(ctx, output->num_elements(), FinishElements, output->num_elements(), columns,
                     Epilogue<float>(rest, bias, output->dtype()), Output<float>(output));
}

class CudaMatMul final : public MatMul {
 public:
  // `weights` is the right-hand side if it is constant, else null.
  CudaMatMul(Device* device, const Tensor* weights) {
    if (weights != nullptr && MultipliesE4m3(device)) weights_ = *weights;
  }

  absl::Status Prepare(const PrepareContext& context, bool transpose_b,
                       WeightUse /*use*/) override {
    if (!weights_.has_value()) return absl::OkStatus();
    ASSIGN_OR_RETURN(narrow_, QuantiseWeights(*weights_, transpose_b));
    weights_.reset();
    transpose_b_ = transpose_b;
    if (!narrow_.has_value()) return absl::OkStatus();
    RETURN_IF_ERROR(MoveToDevice(context.device, &narrow_->values));
    return MoveToDevice(context.device, &narrow_->scale);
  }

  absl::Status Run(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                   const Tensor& a, const Tensor& b, const PostOpInputs& inputs,
                   Tensor* output) override {
    if (output->num_elements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(CopyAddend(ctx, inputs, output));
    Made made = Made::kNothing;
    if (a.num_elements() > 0 && b.num_elements() > 0) {
      ASSIGN_OR_RETURN(made, RunNarrow(ctx, shape, post_ops, a, inputs.bias, output));
      if (made == Made::kNothing) {
        ASSIGN_OR_RETURN(made, library_.Run(ctx, shape, post_ops, a, b, inputs.bias, output));
      }
    }
    switch (made) {
      case Made::kNothing:
        return MultiplyByTiles(ctx, shape, post_ops, a, b, inputs.bias, output);
      case Made::kWithoutBias:
        return FinishProducts(ctx, post_ops, inputs.bias, shape.n, output);
      case Made::kWithoutActivation:
        return RunActivate(ctx, post_ops.activation, post_ops.alpha, output);
      case Made::kAll:
        break;
    }
    return absl::OkStatus();
  }

 private:
  // The product by weights of 8 bits, if there are any and the library takes it.
  absl::StatusOr<Made> RunNarrow(KernelContext& ctx, const MatMulShape& shape,
                                 const PostOps& post_ops, const Tensor& a, const Tensor* bias,
                                 Tensor* output) {
    const int64_t rows = shape.m * shape.batch_size();
    if (!narrow_.has_value() || shape.transpose_a || shape.transpose_b != transpose_b_ ||
        narrow_->values.dim(0) != shape.n || narrow_->values.dim(1) != shape.k ||
        a.num_elements() != rows * shape.k || a.dtype() != output->dtype()) {
      return Made::kNothing;
    }
    MatMulShape matrix;
    matrix.m = rows, matrix.n = shape.n, matrix.k = shape.k;
    E4m3Matrix rounded;
    ASSIGN_OR_RETURN(rounded.values, ctx.AllocateTemp(DType::kUint8, Shape{rows, shape.k}));
    ASSIGN_OR_RETURN(rounded.scale, ctx.AllocateTemp(DType::kFloat, Shape{1}));
    return library_.RunE4m3(ctx, matrix, post_ops, rounded, *narrow_, bias, output,
                            [&] { return RunQuantise(ctx, a, &rounded); });
  }

  LibraryMatMul library_;
  std::optional<Tensor> weights_;  // until Prepare()
  std::optional<E4m3Matrix> narrow_;
  bool transpose_b_ = false;
};

REGISTER_CUDA_PRIMITIVE(MatMul,
                        [](const KernelBuild& build, int b_input) -> std::unique_ptr<MatMul> {
                          return std::make_unique<CudaMatMul>(build.device(),
                                                              build.constant_input(b_input));
                        });

}  // namespace
}  // namespace tessera::cuda
