#include "runtime/kernels/primitives/cpu/onednn_matmul.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/post_op_rows.h"
#include "runtime/kernels/primitives/cpu/product_planner.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/plan_cache.h"

namespace tessera {
namespace {

using dnnl::memory;

memory::desc Layout(int64_t rows, int64_t columns, bool transposed) {
  const memory::dims strides{transposed ? 1 : columns, transposed ? rows : 1};
  return memory::desc({rows, columns}, memory::data_type::f32, strides);
}

// Returns the layout of a part of a matrix whose rows lie `step` elements apart.
memory::desc PartLayout(int64_t rows, int64_t columns, int64_t step) {
  return memory::desc({rows, columns}, memory::data_type::f32, memory::dims{step, 1});
}

memory::desc Layout(int64_t count, int64_t step, int64_t rows, int64_t columns, bool transposed) {
  const memory::dims strides{step * rows * columns, transposed ? 1 : columns,
                             transposed ? rows : 1};
  return memory::desc({count, rows, columns}, memory::data_type::f32, strides);
}

// Returns a product by packed weights as a convolution whose filters have one point and whose image
// is one column of rows, or null if oneDNN has no such implementation. Without AVX-512, its matrix
// products pack both operands in every call, and this one reads the rows in place.
std::shared_ptr<const onednn::Product> MakePointwise(const MatMulShape& s,
                                                     const PostOps& post_ops) {
  using dnnl::convolution_forward;
  const auto f32 = memory::data_type::f32;
  const memory::dims weights{s.n, s.k, 1, 1}, step{1, 1}, padding{0, 0};
  const memory::desc from({1, s.k, s.m, 1}, f32, memory::format_tag::nhwc);
  const memory::desc to({1, s.n, s.m, 1}, f32, memory::format_tag::nhwc);
  const memory::desc packed(weights, f32, memory::format_tag::any);
  const memory::desc plain(weights, f32,
                           s.transpose_b ? memory::dims{s.k, 1, 1, 1} : memory::dims{1, s.n, 1, 1});
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const convolution_forward::desc desc =
      post_ops.bias
          ? convolution_forward::desc(kind, algorithm, from, packed,
                                      memory::desc({s.n}, f32, memory::format_tag::a), to, step,
                                      padding, padding)
          : convolution_forward::desc(kind, algorithm, from, packed, to, step, padding, padding);
  const convolution_forward::primitive_desc made(desc, onednn::Attributes(post_ops),
                                                 onednn::Engine());
  if (!absl::StartsWith(made.impl_info_str(), "jit_1x1")) return nullptr;
  return onednn::MakeProduct<convolution_forward>(made, plain);
}

std::shared_ptr<const onednn::Product> MakeProduct(const MatMulShape& s, const MatrixRun& run,
                                                   const PostOps& post_ops, bool packs_b) {
  // oneDNN reorders a constant matrix into blocks only if there is no batch dimension.
  const bool single = run.count == 1;
  if (packs_b && single && !s.transpose_a && !Avx512IsSupported()) {
    if (auto product = MakePointwise(s, post_ops)) return product;
  }
  const auto layout = [&](int64_t step, int64_t rows, int64_t columns, bool transposed) {
    if (single) return Layout(rows, columns, transposed);
    return Layout(step == 0 ? 1 : run.count, std::max<int64_t>(step, 1), rows, columns, transposed);
  };
  const memory::desc a =
      run.a_row > 0 ? memory::desc({s.m, s.k}, memory::data_type::f32, memory::dims{1, run.a_row})
                    : layout(run.a_stride, s.m, s.k, s.transpose_a);
  const memory::desc plain_b = run.columns > 0 ? PartLayout(s.k, s.n, run.columns)
                                               : layout(run.b_stride, s.k, s.n, s.transpose_b);
  const memory::desc b =
      packs_b ? memory::desc(plain_b.dims(), memory::data_type::f32, memory::format_tag::any)
              : plain_b;
  const memory::desc out =
      run.columns > 0 ? PartLayout(s.m, s.n, run.columns) : layout(1, s.m, s.n, false);
  const auto make = [&](const dnnl::matmul::desc& desc) {
    return onednn::MakeProduct<dnnl::matmul>({desc, onednn::Attributes(post_ops), onednn::Engine()},
                                             plain_b);
  };
  if (!post_ops.bias) return make({a, b, out});
  return make({a, b, single ? Layout(1, s.n, false) : Layout(1, 1, 1, s.n, false), out});
}

absl::StatusOr<std::shared_ptr<const onednn::Product>> ProductFor(const MatMulShape& s,
                                                                  const MatrixRun& run,
                                                                  const PostOps& post_ops,
                                                                  bool packs_b) {
  static auto* const products = new onednn::PrimitiveCache<onednn::Product>(1024);
  const onednn::OneThread one_thread;
  onednn::Key key;
  key.Add(s.m).Add(s.n).Add(s.k).Add(s.transpose_a).Add(s.transpose_b);
  key.Add(run.count).Add(run.a_stride).Add(run.b_stride).Add(run.a_row).Add(run.columns);
  key.Add(packs_b);
  return products->Get(onednn::AddTo(std::move(key), post_ops),
                       [&] { return MakeProduct(s, run, post_ops, packs_b); });
}

// Computes a product of `rows` x `columns` without gaps, and copies it to `out`, whose rows lie
// `step` floats apart. With gaps oneDNN takes another implementation, which is slow where the
// right-hand side is transposed.
absl::Status MultiplyApart(KernelContext& ctx, const onednn::Product& product, int64_t rows,
                           int64_t columns, const float* a, const float* b, const float* bias,
                           int64_t step, float* out) {
  ASSIGN_OR_RETURN(Tensor apart, ctx.AllocateTemp(DType::kFloat, {rows, columns}));
  const float* const from = apart.data<float>();
  RETURN_IF_ERROR(onednn::RunProduct(ctx, product, a, b, bias, apart.data<float>()));
  for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * columns, columns, out + i * step);
  return absl::OkStatus();
}

// Returns the layout of a matrix of bfloat16 whose rows, or columns if it is transposed, lie `step`
// elements apart.
memory::desc Bfloat16Layout(int64_t rows, int64_t columns, int64_t step, bool transposed) {
  const memory::dims strides{transposed ? 1 : step, transposed ? step : 1};
  return memory::desc({rows, columns}, memory::data_type::bf16, strides);
}

// Returns the product for `rows` rows of one matrix.
absl::StatusOr<std::shared_ptr<const onednn::Product>> Bfloat16ProductFor(const MatMulShape& s,
                                                                          int64_t rows,
                                                                          const PostOps& post_ops,
                                                                          bool packs_b) {
  static auto* const products = new onednn::PrimitiveCache<onednn::Product>(1024);
  const onednn::OneThread one_thread;
  onednn::Key key;
  key.Add(s.m).Add(s.n).Add(s.k).Add(s.transpose_a).Add(s.transpose_b).Add(rows).Add(packs_b);
  return products->Get(onednn::AddTo(std::move(key), post_ops), [&] {
    const memory::desc a = Bfloat16Layout(rows, s.k, s.transpose_a ? s.m : s.k, s.transpose_a);
    const memory::desc plain_b = Bfloat16Layout(s.k, s.n, s.transpose_b ? s.k : s.n, s.transpose_b);
    const memory::desc b =
        packs_b ? memory::desc(plain_b.dims(), memory::data_type::bf16, memory::format_tag::any)
                : plain_b;
    const memory::desc out = Bfloat16Layout(rows, s.n, s.n, false);
    const dnnl::matmul::desc desc =
        post_ops.bias ? dnnl::matmul::desc(a, b, Bfloat16Layout(1, s.n, s.n, false), out)
                      : dnnl::matmul::desc(a, b, out);
    return onednn::MakeProduct<dnnl::matmul>({desc, onednn::Attributes(post_ops), onednn::Engine()},
                                             plain_b);
  });
}

}  // namespace

absl::StatusOr<OneDnnBatch> SplitForOneDnn(const MatMulShape& given, const PostOps& post_ops,
                                           bool packs_b, int threads) {
  OneDnnBatch result{.given = given, .batch = SplitBatch(given)};
  if (!onednn::AppliesActivation(post_ops)) {
    result.rest = {.activation = post_ops.activation, .alpha = post_ops.alpha};
  }
  const MatMulShape& s = result.batch.shape;
  const MatrixRun& run = result.batch.run;
  const double nanoseconds = 2.0 * s.m * s.n * s.k * run.count / SpeedsForCpu().fma_flops;
  int64_t chunks = 1;
  // Chunks of a transposed right-hand side lose what the output held before; see MultiplyOneDnn().
  if (result.batch.is_single && !packs_b && !(s.transpose_b && post_ops.add)) {
    chunks = PlanColumnChunks(s.m, s.n, s.k, s.transpose_b,
                              {.speeds = SpeedsForCpu(), .threads = std::max(threads, 1)});
  }
  if (chunks > 1) {
    constexpr int64_t kWholeVectors = 32;  // columns
    result.axis = ChunkAxis::kColumns;
    result.length = s.n;
    result.size = ((s.n + chunks - 1) / chunks + kWholeVectors - 1) / kWholeVectors * kWholeVectors;
  } else {
    result.axis = run.count == 1 ? ChunkAxis::kRows : ChunkAxis::kMatrices;
    result.length = result.axis == ChunkAxis::kRows ? s.m : run.count;
    chunks = NumChunks(threads, result.length, nanoseconds);
    result.size = (result.length + chunks - 1) / chunks;
  }
  result.chunks = (result.length + result.size - 1) / result.size;
  result.nanoseconds = nanoseconds / result.chunks;
  const auto product_of = [&](int64_t count) {
    MatMulShape chunk = s;
    MatrixRun chunk_run = run;
    switch (result.axis) {
      case ChunkAxis::kMatrices:
        chunk_run.count = count;
        break;
      case ChunkAxis::kRows:
        chunk.m = count;
        if (s.transpose_a && count != s.m) chunk_run.a_row = s.m;
        break;
      case ChunkAxis::kColumns:
        chunk.n = count;
        if (!s.transpose_b) chunk_run.columns = s.n;
        break;
    }
    return ProductFor(chunk, chunk_run, post_ops, packs_b);
  };
  const int64_t last = result.length - (result.chunks - 1) * result.size;
  ASSIGN_OR_RETURN(result.last_product, product_of(last));
  result.product = result.last_product;
  if (last != result.size) {
    ASSIGN_OR_RETURN(result.product, product_of(result.size));
  }
  return result;
}

absl::Status MultiplyOneDnn(KernelContext& ctx, const OneDnnBatch& split, const float* a,
                            const Tensor& b, const float* bias, PackedWeights* packed, float* out) {
  const MatMulShape &given = split.given, &s = split.batch.shape;
  const MatrixRun& run = split.batch.run;
  const int64_t outer = split.batch.outer;
  return ForEachChunk(
      ctx, outer * split.chunks, split.nanoseconds, [&](int64_t item) -> absl::Status {
        const int64_t i = item / split.chunks, chunk = item % split.chunks;
        const int64_t begin = chunk * split.size, first = i * (given.batch_size() / outer);
        const onednn::Product& product =
            chunk == split.chunks - 1 ? *split.last_product : *split.product;
        const auto [a_at, b_at] = MatrixOffsets(given, first);
        const float* a_data = a + a_at * given.m * given.k;
        const float* b_data = b.data<float>() + b_at * given.k * given.n;
        const float* bias_data = bias;
        float* out_data = out + first * given.m * given.n;
        const int64_t length = std::min(split.size, split.length - begin);
        int64_t rows = 1, row_size = length * s.m * s.n;  // of what the chunk computes
        switch (split.axis) {
          case ChunkAxis::kMatrices:
            a_data += begin * run.a_stride * s.m * s.k;
            b_data += begin * run.b_stride * given.k * given.n;
            out_data += begin * s.m * s.n;
            break;
          case ChunkAxis::kRows:
            a_data += s.transpose_a ? begin : begin * s.k;
            out_data += begin * s.n;
            row_size = length * s.n;
            break;
          case ChunkAxis::kColumns:
            b_data += s.transpose_b ? begin * s.k : begin;
            if (bias_data != nullptr) bias_data += begin;
            out_data += begin;
            rows = s.m;
            row_size = length;
            break;
        }
        if (packed != nullptr) {
          RETURN_IF_ERROR(onednn::RunProduct(ctx, product, a_data, b, packed, bias_data, out_data));
        } else if (split.axis == ChunkAxis::kColumns && s.transpose_b) {
          RETURN_IF_ERROR(
              MultiplyApart(ctx, product, s.m, length, a_data, b_data, bias_data, s.n, out_data));
        } else {
          RETURN_IF_ERROR(onednn::RunProduct(ctx, product, a_data, b_data, bias_data, out_data));
        }
        for (int64_t row = 0; row < rows; ++row) {
          FinishSums(split.rest, row_size, out_data + row * s.n);
        }
        return absl::OkStatus();
      });
}

absl::Status MultiplyBfloat16(KernelContext& ctx, const MatMulShape& s, const PostOps& post_ops,
                              const Tensor& a, const Tensor& b, const Tensor* bias,
                              PackedWeights* packed, Tensor* output) {
  const double nanoseconds = 2.0 * s.m * s.n * s.k / SpeedsForCpu().fma_flops;
  const int64_t products = s.batch_size();
  int64_t parts = products > 1 ? 1 : NumChunks(ctx, s.m, nanoseconds);
  if (packed == nullptr) parts = std::min<int64_t>(parts, NumThreads(ctx));
  const int64_t rows = (s.m + parts - 1) / parts, chunks = (s.m + rows - 1) / rows;
  ASSIGN_OR_RETURN(const auto product, Bfloat16ProductFor(s, rows, post_ops, packed != nullptr));
  ASSIGN_OR_RETURN(const auto last,
                   Bfloat16ProductFor(s, s.m - (chunks - 1) * rows, post_ops, packed != nullptr));
  const auto* const a_data = a.data<Eigen::bfloat16>();
  const auto* const b_data = b.data<Eigen::bfloat16>();
  auto* const out = output->data<Eigen::bfloat16>();
  return ForEachChunk(
      ctx, products * chunks, nanoseconds / chunks, [&](int64_t item) -> absl::Status {
        const int64_t i = item / chunks, first = item % chunks * rows;
        const auto [a_at, b_at] = MatrixOffsets(s, i);
        const onednn::Product& part = first + rows >= s.m ? *last : *product;
        const auto* const from = a_data + a_at * s.m * s.k + (s.transpose_a ? first : first * s.k);
        const void* const biases = bias == nullptr ? nullptr : bias->raw();
        auto* const to = out + (i * s.m + first) * s.n;
        RETURN_IF_ERROR(
            packed != nullptr
                ? onednn::RunProduct(ctx, part, from, b, packed, biases, to)
                : onednn::RunProduct(ctx, part, from, b_data + b_at * s.k * s.n, biases, to));
        ClampBfloat16(post_ops, std::min(rows, s.m - first) * s.n, reinterpret_cast<uint16_t*>(to));
        return absl::OkStatus();
      });
}

}  // namespace tessera
