#include "runtime/kernels/primitives/cpu/matmul.h"

#include <algorithm>
#include <complex>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/kernels/primitives/cpu/amx_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/blocked_gemm.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/gemv.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/onednn_product.h"
#include "runtime/kernels/primitives/cpu/ordered_gemm.h"
#include "runtime/kernels/primitives/cpu/plan_cache.h"
#include "runtime/kernels/primitives/cpu/product_planner.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

using dnnl::memory;

// ---- float, by oneDNN ----

// A run of matrices at equal distances, which one primitive computes. A distance of 0 broadcasts.
struct Run {
  int64_t count = 1, a_stride = 0, b_stride = 0;
  // The elements from row to row of a transposed `a` of which the product takes some columns only;
  // 0: it takes all.
  int64_t a_row = 0;
};

memory::desc Layout(int64_t rows, int64_t columns, bool transposed) {
  const memory::dims strides{transposed ? 1 : columns, transposed ? rows : 1};
  return memory::desc({rows, columns}, memory::data_type::f32, strides);
}

memory::desc Layout(int64_t count, int64_t step, int64_t rows, int64_t columns, bool transposed) {
  const memory::dims strides{step * rows * columns, transposed ? 1 : columns,
                             transposed ? rows : 1};
  return memory::desc({count, rows, columns}, memory::data_type::f32, strides);
}

std::shared_ptr<const onednn::Product> MakeProduct(const MatMulShape& s, const Run& run,
                                                   const PostOps& post_ops, bool packs_b) {
  // oneDNN reorders a constant matrix into blocks only if there is no batch dimension.
  const bool single = run.count == 1;
  const auto layout = [&](int64_t step, int64_t rows, int64_t columns, bool transposed) {
    if (single) return Layout(rows, columns, transposed);
    return Layout(step == 0 ? 1 : run.count, std::max<int64_t>(step, 1), rows, columns, transposed);
  };
  const memory::desc a =
      run.a_row > 0 ? memory::desc({s.m, s.k}, memory::data_type::f32, memory::dims{1, run.a_row})
                    : layout(run.a_stride, s.m, s.k, s.transpose_a);
  const memory::desc plain_b = layout(run.b_stride, s.k, s.n, s.transpose_b);
  const memory::desc b =
      packs_b ? memory::desc(plain_b.dims(), memory::data_type::f32, memory::format_tag::any)
              : plain_b;
  const memory::desc out = layout(1, s.m, s.n, false);
  const auto make = [&](const dnnl::matmul::desc& desc) {
    return onednn::MakeProduct<dnnl::matmul>({desc, onednn::Attributes(post_ops), onednn::Engine()},
                                             plain_b);
  };
  if (!post_ops.bias) return make({a, b, out});
  return make({a, b, single ? Layout(1, s.n, false) : Layout(1, 1, 1, s.n, false), out});
}

absl::StatusOr<std::shared_ptr<const onednn::Product>> ProductFor(const MatMulShape& s,
                                                                  const Run& run,
                                                                  const PostOps& post_ops,
                                                                  bool packs_b) {
  static auto* const products = new onednn::PrimitiveCache<onednn::Product>(1024);
  const onednn::OneThread one_thread;
  onednn::Key key;
  key.Add(s.m).Add(s.n).Add(s.k).Add(s.transpose_a).Add(s.transpose_b);
  key.Add(run.count).Add(run.a_stride).Add(run.b_stride).Add(run.a_row).Add(packs_b);
  return products->Get(onednn::AddTo(std::move(key), post_ops),
                       [&] { return MakeProduct(s, run, post_ops, packs_b); });
}

// ---- every dtype: a plain loop over one matrix ----

template <typename T>
using SumOf =
    std::conditional_t<std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>, float,
                       T>;

template <typename T>
constexpr bool kIsComplex = false;
template <typename T>
constexpr bool kIsComplex<std::complex<T>> = true;

template <typename T>
T Read(T value, bool conjugate) {
  if constexpr (kIsComplex<T>) {
    return conjugate ? std::conj(value) : value;
  } else {
    return value;
  }
}

// Products of double from so many multiplications on go through Eigen.
constexpr int64_t kMinEigenProduct = 4096;

// Computes rows [begin, end) of a product of double without post-ops.
void MultiplyRowsByEigen(const MatMulShape& s, const double* a, const double* b, int64_t begin,
                         int64_t end, double* out) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Operand = Eigen::Map<const Matrix>;
  Eigen::Map<Matrix> product(out + begin * s.n, end - begin, s.n);
  const auto multiply = [&](const auto& left) {
    if (s.transpose_b) {
      product.noalias() = left * Operand(b, s.n, s.k).transpose();
    } else {
      product.noalias() = left * Operand(b, s.k, s.n);
    }
  };
  if (s.transpose_a) {
    multiply(Operand(a, s.k, s.m).middleCols(begin, end - begin).transpose());
  } else {
    multiply(Operand(a + begin * s.k, end - begin, s.k));
  }
}

// Computes rows [begin, end) of the product.
template <typename T>
void MultiplyRows(const MatMulShape& s, const PostOps& post_ops, const T* a, const T* b,
                  const T* bias, int64_t begin, int64_t end, T* out) {
  using Sum = SumOf<T>;
  const int64_t a_row = s.transpose_a ? 1 : s.k, a_column = s.transpose_a ? s.m : 1;
  std::vector<Sum> sums(s.n);
  for (int64_t i = begin; i < end; ++i) {
    std::fill(sums.begin(), sums.end(), Sum(0));
    const T* row = a + i * a_row;
    if (s.transpose_b) {
      for (int64_t j = 0; j < s.n; ++j) {
        Sum sum(0);
        for (int64_t p = 0; p < s.k; ++p) {
          sum += static_cast<Sum>(Read(row[p * a_column], s.conjugate_a)) *
                 static_cast<Sum>(Read(b[j * s.k + p], s.conjugate_b));
        }
        sums[j] = sum;
      }
    } else {
      for (int64_t p = 0; p < s.k; ++p) {
        const Sum x = static_cast<Sum>(Read(row[p * a_column], s.conjugate_a));
        const T* from = b + p * s.n;
        for (int64_t j = 0; j < s.n; ++j) {
          sums[j] += x * static_cast<Sum>(Read(from[j], s.conjugate_b));
        }
      }
    }
    for (int64_t j = 0; j < s.n; ++j) {
      Sum sum = sums[j];
      if (bias) sum += static_cast<Sum>(bias[j]);
      if (post_ops.add) sum += static_cast<Sum>(out[i * s.n + j]);
      if constexpr (std::is_floating_point_v<Sum>) {
        if (post_ops.activation != Activation::kNone) {
          sum = static_cast<Sum>(Apply(post_ops.activation, post_ops.alpha, sum));
        }
      }
      out[i * s.n + j] = static_cast<T>(sum);
    }
  }
}

// Returns the offsets, in matrices, of batch item `index` in a and b.
std::pair<int64_t, int64_t> Offsets(const MatMulShape& s, int64_t index) {
  int64_t a = 0, b = 0;
  for (size_t d = s.batch.size(); d-- > 0;) {
    const int64_t at = index % s.batch[d];
    index /= s.batch[d];
    a += at * s.a_stride[d];
    b += at * s.b_stride[d];
  }
  return {a, b};
}

template <typename T>
void MultiplyAll(KernelContext& ctx, const MatMulShape& s, const PostOps& post_ops, const T* a,
                 const T* b, const T* bias, T* out) {
  const bool by_eigen = std::is_same_v<T, double> && s.m * s.n * s.k >= kMinEigenProduct &&
                        bias == nullptr && !post_ops.add &&
                        post_ops.activation == Activation::kNone;
  const double cost = static_cast<double>(s.n) * static_cast<double>(s.k) * (by_eigen ? 0.05 : 0.5);
  ctx.ParallelFor(s.batch_size() * s.m, cost + 1, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t item = begin / s.m, first = begin % s.m;
      const int64_t last = std::min(s.m, first + (end - begin));
      const auto [a_at, b_at] = Offsets(s, item);
      const T* const left = a + a_at * s.m * s.k;
      const T* const right = b + b_at * s.k * s.n;
      T* const to = out + item * s.m * s.n;
      if constexpr (std::is_same_v<T, double>) {
        if (by_eigen) MultiplyRowsByEigen(s, left, right, first, last, to);
      }
      if (!by_eigen) MultiplyRows(s, post_ops, left, right, bias, first, last, to);
      begin += last - first;
    }
  });
}

// Splits the batch into equal runs: the innermost dimensions whose distances are regular in both
// operands form one run, and the other dimensions are `outer` runs.
Run InnerRun(const MatMulShape& s, int64_t* outer) {
  Run run;
  size_t d = s.batch.size();
  while (d > 0) {
    const size_t next = d - 1;
    if (s.batch[next] != 1) {
      const bool first = run.count == 1;
      if (!first && (s.a_stride[next] != run.count * run.a_stride ||
                     s.b_stride[next] != run.count * run.b_stride)) {
        break;
      }
      if (first) {
        run.a_stride = s.a_stride[next];
        run.b_stride = s.b_stride[next];
      }
      run.count *= s.batch[next];
    }
    d = next;
  }
  *outer = 1;
  for (size_t i = 0; i < d; ++i) *outer *= s.batch[i];
  return run;
}

// ---- bfloat16, by oneDNN ----

// The layout of a matrix of bfloat16 whose rows, or columns if it is transposed, lie `step`
// elements apart.
memory::desc Bfloat16Layout(int64_t rows, int64_t columns, int64_t step, bool transposed) {
  const memory::dims strides{transposed ? 1 : step, transposed ? step : 1};
  return memory::desc({rows, columns}, memory::data_type::bf16, strides);
}

// The product of `rows` of the rows of one matrix.
absl::StatusOr<std::shared_ptr<const onednn::Product>> Bfloat16ProductFor(const MatMulShape& s,
                                                                          int64_t rows,
                                                                          const PostOps& post_ops) {
  static auto* const products = new onednn::PrimitiveCache<onednn::Product>(1024);
  const onednn::OneThread one_thread;
  onednn::Key key;
  key.Add(s.m).Add(s.n).Add(s.k).Add(s.transpose_a).Add(s.transpose_b).Add(rows);
  return products->Get(onednn::AddTo(std::move(key), post_ops), [&] {
    const memory::desc a = Bfloat16Layout(rows, s.k, s.transpose_a ? s.m : s.k, s.transpose_a);
    const memory::desc b = Bfloat16Layout(s.k, s.n, s.transpose_b ? s.k : s.n, s.transpose_b);
    const memory::desc out = Bfloat16Layout(rows, s.n, s.n, false);
    const dnnl::matmul::desc desc =
        post_ops.bias ? dnnl::matmul::desc(a, b, Bfloat16Layout(1, s.n, s.n, false), out)
                      : dnnl::matmul::desc(a, b, out);
    return onednn::MakeProduct<dnnl::matmul>({desc, onednn::Attributes(post_ops), onednn::Engine()},
                                             b);
  });
}

// Sums are of float, and rounded once.
absl::Status MultiplyBfloat16(KernelContext& ctx, const MatMulShape& s, const PostOps& post_ops,
                              const Tensor& a, const Tensor& b, const Tensor* bias,
                              Tensor* output) {
  const double nanoseconds = 2.0 * s.m * s.n * s.k / SpeedsForCpu().fma_flops;
  const int64_t products = s.batch_size();
  const int64_t parts = products > 1 ? 1 : NumChunks(ctx, s.m, nanoseconds);
  const int64_t rows = (s.m + parts - 1) / parts, chunks = (s.m + rows - 1) / rows;
  ASSIGN_OR_RETURN(const auto product, Bfloat16ProductFor(s, rows, post_ops));
  ASSIGN_OR_RETURN(const auto last, Bfloat16ProductFor(s, s.m - (chunks - 1) * rows, post_ops));
  const auto* const a_data = a.data<Eigen::bfloat16>();
  const auto* const b_data = b.data<Eigen::bfloat16>();
  auto* const out = output->data<Eigen::bfloat16>();
  return ForEachChunk(ctx, products * chunks, nanoseconds / chunks, [&](int64_t item) {
    const int64_t i = item / chunks, first = item % chunks * rows;
    const auto [a_at, b_at] = Offsets(s, i);
    return onednn::RunProduct(ctx, first + rows >= s.m ? *last : *product,
                              a_data + a_at * s.m * s.k + (s.transpose_a ? first : first * s.k),
                              b_data + b_at * s.k * s.n, bias == nullptr ? nullptr : bias->raw(),
                              out + (i * s.m + first) * s.n);
  });
}

// The products of a batch: `outer` runs, or a single product whose left-hand side is not
// transposed.
struct Batch {
  MatMulShape shape;
  Run run;
  int64_t outer = 1;
  bool is_single = false;
};

Batch SplitBatch(const MatMulShape& given) {
  Batch batch{.shape = given};
  batch.run = InnerRun(given, &batch.outer);
  if (batch.run.count > 1 && batch.run.b_stride == 0 && batch.run.a_stride == 1 &&
      !given.transpose_a) {
    // All matrices share the right-hand side, so the batch is only more rows.
    batch.shape.m *= batch.run.count;
    batch.run = Run();
  }
  batch.is_single = batch.outer == 1 && batch.run.count == 1 && !given.transpose_a;
  return batch;
}

// A batch in chunks that oneDNN computes: ranges of the matrices of each run, or of the rows of its
// only matrix.
struct OneDnnBatch {
  bool by_rows() const { return batch.run.count == 1; }

  MatMulShape given;
  Batch batch;
  int64_t length = 0;      // of a run: rows or matrices
  int64_t chunks = 1;      // of a run
  int64_t size = 0;        // of a chunk; the last one may be shorter
  double nanoseconds = 0;  // for a chunk
  std::shared_ptr<const onednn::Product> product, last_product;
};

// `threads`: see NumPoolThreads().
absl::StatusOr<OneDnnBatch> SplitForOneDnn(const MatMulShape& given, const PostOps& post_ops,
                                           bool packs_b, int threads) {
  OneDnnBatch result{.given = given, .batch = SplitBatch(given)};
  const MatMulShape& s = result.batch.shape;
  const Run& run = result.batch.run;
  const int64_t length = result.length = result.by_rows() ? s.m : run.count;
  const double nanoseconds = 2.0 * s.m * s.n * s.k * run.count / SpeedsForCpu().fma_flops;
  const int64_t chunks = NumChunks(threads, length, nanoseconds);
  result.nanoseconds = nanoseconds / chunks;
  result.size = (length + chunks - 1) / chunks;
  result.chunks = (length + result.size - 1) / result.size;
  const auto product_of = [&](int64_t count) {
    MatMulShape chunk = s;
    Run chunk_run = run;
    (result.by_rows() ? chunk.m : chunk_run.count) = count;
    if (result.by_rows() && s.transpose_a && count != s.m) chunk_run.a_row = s.m;
    return ProductFor(chunk, chunk_run, post_ops, packs_b);
  };
  const int64_t last = length - (result.chunks - 1) * result.size;
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
  const Run& run = split.batch.run;
  const int64_t outer = split.batch.outer;
  return ForEachChunk(ctx, outer * split.chunks, split.nanoseconds, [&](int64_t item) {
    const int64_t i = item / split.chunks, chunk = item % split.chunks;
    const int64_t begin = chunk * split.size, first = i * (given.batch_size() / outer);
    const onednn::Product& product =
        chunk == split.chunks - 1 ? *split.last_product : *split.product;
    auto [a_at, b_at] = Offsets(given, first);
    const float* a_data = a + a_at * given.m * given.k;
    float* out_data = out + first * given.m * given.n;
    if (split.by_rows()) {
      a_data += s.transpose_a ? begin : begin * s.k;
      out_data += begin * s.n;
    } else {
      a_data += begin * run.a_stride * s.m * s.k;
      b_at += begin * run.b_stride;
      out_data += begin * s.m * s.n;
    }
    if (packed != nullptr) {
      return onednn::RunProduct(ctx, product, a_data, b, packed, bias, out_data);
    }
    return onednn::RunProduct(ctx, product, a_data, b.data<float>() + b_at * given.k * given.n,
                              bias, out_data);
  });
}

// Multiplies each pair of matrices of the batch by OrderedGemm().
absl::Status MultiplyOrdered(KernelContext& ctx, const MatMulShape& given, const PostOps& post_ops,
                             const float* a, const float* b, const float* bias, float* out) {
  const Batch batch = SplitBatch(given);
  const MatMulShape& s = batch.shape;
  const int64_t products = batch.outer * batch.run.count;
  for (int64_t i = 0; i < products; ++i) {
    const auto [a_at, b_at] = Offsets(given, i * (given.batch_size() / products));
    RETURN_IF_ERROR(OrderedGemm(ctx, s.m, s.n, s.k, s.transpose_a, s.transpose_b, post_ops,
                                a + a_at * given.m * s.k, b + b_at * s.k * s.n, bias,
                                out + i * s.m * s.n));
  }
  return absl::OkStatus();
}

// ---- float, by the algorithm that the planner chooses ----

// How to compute the products of one shape.
struct MatMulPlan {
  bool IsFor(const MatMulShape& other, const PostOps& other_post_ops, bool other_has_constant,
             bool other_has_panels, int other_threads) const {
    return threads == other_threads && has_constant_weights == other_has_constant &&
           has_panels == other_has_panels && shape == other && post_ops == other_post_ops;
  }

  MatMulShape shape;
  PostOps post_ops;
  bool has_constant_weights = false, has_panels = false;
  int threads = 0;  // see NumPoolThreads()

  ProductAlgorithm algorithm = ProductAlgorithm::kOneDnn;
  OneDnnBatch onednn;  // for kOneDnn
};

absl::StatusOr<MatMulPlan> MakePlan(const MatMulShape& shape, const PostOps& post_ops,
                                    bool has_constant_weights, bool has_panels, int threads,
                                    Numerics numerics) {
  MatMulPlan plan{.shape = shape,
                  .post_ops = post_ops,
                  .has_constant_weights = has_constant_weights,
                  .has_panels = has_panels,
                  .threads = threads};
  MatMulProblem problem{.m = shape.m, .n = shape.n, .k = shape.k, .batch = shape.batch_size()};
  problem.is_single = SplitBatch(shape).is_single;
  if (problem.is_single) {
    problem.m *= problem.batch;
    problem.batch = 1;
  }
  problem.has_constant_weights = has_constant_weights;
  problem.has_panels = has_panels;
  plan.algorithm = PlanMatMul(problem, {SpeedsForCpu(), std::max(threads, 1), numerics});
  if (plan.algorithm == ProductAlgorithm::kOneDnn) {
    ASSIGN_OR_RETURN(plan.onednn, SplitForOneDnn(shape, post_ops, has_constant_weights, threads));
  }
  return plan;
}

absl::Status MultiplyFloat(KernelContext& ctx, const MatMulPlan& plan, const float* a,
                           const Tensor& b, const float* bias, PackedWeights* packed,
                           Numerics numerics, float* out) {
  const MatMulShape& given = plan.shape;
  const PostOps& post_ops = plan.post_ops;
  switch (plan.algorithm) {
    case ProductAlgorithm::kOneDnn:
      return MultiplyOneDnn(ctx, plan.onednn, a, b, bias, packed, out);
    case ProductAlgorithm::kOrdered:
      return MultiplyOrdered(ctx, given, post_ops, a, b.data<float>(), bias, out);
    default:
      break;
  }
  const int64_t m = given.m * given.batch_size(), n = given.n, k = given.k;
  if (plan.algorithm == ProductAlgorithm::kGemv) {
    return Gemv(ctx, m, n, k, given.transpose_b, post_ops, a, b.data<float>(), bias, out);
  }
  const auto fallback = [&](KernelContext& ctx, int64_t first, int64_t count) -> absl::Status {
    const MatMulShape rows{.m = count, .n = n, .k = k, .transpose_b = given.transpose_b};
    const float* const from = a + first * k;
    float* const to = out + first * n;
    if (numerics == Numerics::kStrict) {
      return MultiplyOrdered(ctx, rows, post_ops, from, b.data<float>(), bias, to);
    }
    ASSIGN_OR_RETURN(const OneDnnBatch split,
                     SplitForOneDnn(rows, post_ops, packed != nullptr, NumPoolThreads(ctx)));
    return MultiplyOneDnn(ctx, split, from, b, bias, packed, to);
  };
  const GemmArguments arguments{.m = m,
                                .n = n,
                                .k = k,
                                .transpose_b = given.transpose_b,
                                .post_ops = post_ops,
                                .a = a,
                                .b = b,
                                .bias = bias,
                                .packed = packed,
                                .output = out};
  switch (plan.algorithm) {
    case ProductAlgorithm::kAmxGemm:
      return BlockedMatMul(ctx, gemm::AmxMicroKernel(), arguments, fallback);
    case ProductAlgorithm::kStrassen:
      return StrassenMatMul(ctx, arguments, fallback);
    default:
      return BlockedMatMul(ctx, gemm::FmaMicroKernel(), arguments, fallback);
  }
}

// Returns true if MultiplyByLoops() makes the product, and otherwise MultiplyFloat().
bool TakesLoops(const MatMulShape& shape, DType dtype, Numerics numerics) {
  return TakesLoops(dtype, shape.m * shape.n * shape.k * shape.batch_size(), numerics);
}

absl::Status MultiplyByLoops(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                             const Tensor& a, const Tensor& b, const Tensor* bias, Tensor* output) {
  return VisitNumericType(a.dtype(), [&]<typename T>() {
    MultiplyAll<T>(ctx, shape, post_ops, a.data<T>(), b.data<T>(), bias ? bias->data<T>() : nullptr,
                   output->data<T>());
    return absl::OkStatus();
  });
}

// Multiplies a matrix by a column: its transpose is a row times a transposed matrix.
absl::Status MultiplyByColumn(KernelContext& ctx, const MatMulShape& s, const PostOps& post_ops,
                              const Tensor& a, const Tensor& b, const Tensor* bias,
                              Tensor* output) {
  const int64_t rows = s.m * s.batch_size();
  Tensor biases;  // of all rows, which share one
  if (bias != nullptr) {
    ASSIGN_OR_RETURN(biases, ctx.AllocateTemp(DType::kFloat, {rows}));
    std::fill_n(biases.data<float>(), rows, bias->data<float>()[0]);
  }
  return Gemv(ctx, 1, rows, s.k, /*transpose_b=*/true, post_ops, b.data<float>(), a.data<float>(),
              bias == nullptr ? nullptr : biases.data<float>(), output->data<float>());
}

// Multiplies by a plan, which is kept unless `plans` is null.
absl::Status MultiplyFloat(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                           const Tensor& a, const Tensor& b, const Tensor* bias,
                           PackedWeights* packed, Tensor* output, Numerics numerics,
                           PlanCache<MatMulPlan>* plans) {
  if (shape.n == 1 && numerics == Numerics::kFast && SplitBatch(shape).is_single) {
    return MultiplyByColumn(ctx, shape, post_ops, a, b, bias, output);
  }
  // Only a single matrix is packed. Batches of right-hand sides are seldom constant.
  if (b.num_elements() != shape.n * shape.k) packed = nullptr;
  const bool has_panels = packed != nullptr && packed->HasPanels(b);
  const int threads = NumPoolThreads(ctx);
  const auto run = [&](const MatMulPlan& plan) {
    return MultiplyFloat(ctx, plan, a.data<float>(), b, bias ? bias->data<float>() : nullptr,
                         packed, numerics, output->data<float>());
  };
  if (plans != nullptr) {
    if (const auto* plan = plans->Find(shape, post_ops, packed != nullptr, has_panels, threads)) {
      return run(*plan);
    }
  }
  ASSIGN_OR_RETURN(const MatMulPlan plan,
                   MakePlan(shape, post_ops, packed != nullptr, has_panels, threads, numerics));
  if (plans != nullptr) plans->Insert(plan);
  return run(plan);
}

// Returns true for half and bfloat16 if converting them to float costs little next to the product.
bool TakesFloat(const MatMulShape& shape, DType dtype, Numerics numerics) {
  return IsNarrowFloat(dtype) && !TakesLoops(shape, DType::kFloat, numerics) &&
         numerics == Numerics::kFast;
}

absl::Status MultiplyNarrow(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                            const Tensor& a, const Tensor& b, const Tensor* bias, Tensor* output) {
  if (a.dtype() == DType::kBfloat16 && HasAvx512()) {
    return MultiplyBfloat16(ctx, shape, post_ops, a, b, bias, output);
  }
  Allocator* const allocator = ctx.host_allocator();
  ASSIGN_OR_RETURN(const Tensor wide_a, WidenToFloat(a, allocator));
  ASSIGN_OR_RETURN(const Tensor wide_b, WidenToFloat(b, allocator));
  ASSIGN_OR_RETURN(Tensor wide_output, WidenToFloat(*output, allocator));  // what it adds to
  Tensor wide_bias;
  if (bias != nullptr) {
    ASSIGN_OR_RETURN(wide_bias, WidenToFloat(*bias, allocator));
  }
  RETURN_IF_ERROR(MultiplyFloat(ctx, shape, post_ops, wide_a, wide_b,
                                bias == nullptr ? nullptr : &wide_bias, nullptr, &wide_output,
                                Numerics::kFast, nullptr));
  NarrowFromFloat(wide_output, output);
  return absl::OkStatus();
}

class CpuMatMul final : public MatMul {
 public:
  CpuMatMul(const KernelBuild& build, int b_input)
      : numerics_(build.numerics()), weights_(build, b_input) {}

  absl::Status Prepare(const PrepareContext& context, bool transpose_b) override {
    const Tensor* const b = weights_.constant();
    if (b == nullptr || b->rank() != 2 || b->dtype() != DType::kFloat) return absl::OkStatus();
    StepContext step;
    step.intra_op_pool = context.pool;
    KernelContext ctx(step, context.device);
    const int64_t n = b->dim(transpose_b ? 0 : 1), k = b->dim(transpose_b ? 1 : 0);
    const PlannerContext planner{SpeedsForCpu(), NumThreads(ctx), numerics_};
    if (PlanMatMulWeights(n, k, planner) != ProductAlgorithm::kFmaGemm) return absl::OkStatus();
    const PostOps none;
    return PackMatrix(ctx, gemm::FmaMicroKernel(),
                      {.n = n,
                       .k = k,
                       .transpose_b = transpose_b,
                       .post_ops = none,
                       .b = *b,
                       .packed = &weights_})
        .status();
  }

  absl::Status Run(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                   const Tensor& a, const Tensor& b, const PostOpInputs& inputs,
                   Tensor* output) override {
    CopyAddend(inputs, output);
    if (output->num_elements() == 0) return absl::OkStatus();
    if (TakesFloat(shape, a.dtype(), numerics_)) {
      return MultiplyNarrow(ctx, shape, post_ops, a, b, inputs.bias, output);
    }
    if (TakesLoops(shape, a.dtype(), numerics_)) {
      return MultiplyByLoops(ctx, shape, post_ops, a, b, inputs.bias, output);
    }
    return MultiplyFloat(ctx, shape, post_ops, a, b, inputs.bias, weights_.UseFor(ctx, b), output,
                         numerics_, &plans_);
  }

 private:
  const Numerics numerics_;
  PackedWeights weights_;
  PlanCache<MatMulPlan> plans_;
};

std::unique_ptr<MatMul> MakeMatMul(const KernelBuild& build, int b_input) {
  return std::make_unique<CpuMatMul>(build, b_input);
}

REGISTER_PRIMITIVE(MatMul, kCpu, MakeMatMul);

}  // namespace

absl::Status ComputeMatMul(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                           const Tensor& a, const Tensor& b, const Tensor* bias,
                           PackedWeights* packed, Tensor* output, Numerics numerics) {
  if (output->num_elements() == 0) return absl::OkStatus();
  if (TakesFloat(shape, a.dtype(), numerics)) {
    return MultiplyNarrow(ctx, shape, post_ops, a, b, bias, output);
  }
  if (TakesLoops(shape, a.dtype(), numerics)) {
    return MultiplyByLoops(ctx, shape, post_ops, a, b, bias, output);
  }
  return MultiplyFloat(ctx, shape, post_ops, a, b, bias, packed, output, numerics, nullptr);
}

}  // namespace tessera
