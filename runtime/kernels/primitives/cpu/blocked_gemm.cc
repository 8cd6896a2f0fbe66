#include "runtime/kernels/primitives/cpu/blocked_gemm.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "runtime/base/fresh_pages.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/activation_loop.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/strassen_gemm.h"

namespace tessera {
namespace {

using gemm::MicroKernel;

// The number of depth blocks per pass when threads share the panels. Between passes the sums are
// kept in the output, which leaves more of the cache to the rows.
constexpr int64_t kDepthBlocksPerPass = 32;

// Returns true if threads share the columns. Weights that exceed the cache are then read once for
// all rows, rather than once for each row block.
bool SharesColumns(const MicroKernel& kernel, int64_t positions, int64_t depth, int64_t columns) {
  return kernel.PackedSize(positions, depth, columns) > SpeedsForCpu().product_cache_bytes * 3 / 8;
}

double FlopsPerNanosecond(const MicroKernel& kernel) {
  const MachineSpeeds& speeds = SpeedsForCpu();
  return &kernel == &gemm::FmaMicroKernel() ? speeds.fma_flops : speeds.amx_flops;
}

// Returns the epilogue, with its activation whether or not that is a clamp.
Epilogue FullEpilogue(const PostOps& post_ops, const float* bias) {
  Epilogue epilogue = ClampEpilogue(post_ops, bias);
  epilogue.activate = ActivationLoopOf(post_ops.activation);
  epilogue.alpha = post_ops.alpha;
  return epilogue;
}

// Rows that are computed together, and the offsets of their outputs.
struct RowBlock {
  int64_t first = 0, count = 0;
  int64_t row_offsets[gemm::kMaxRows];
};

// The row blocks of all outputs. No block spans two images.
class RowBlocks {
 public:
  RowBlocks(const MicroKernel& kernel, const OutputGrid& grid, int64_t columns)
      : grid_(grid),
        columns_(columns),
        length_((grid.height - 1) * grid.row_stride + grid.width),
        block_rows_(kernel.RowBlockSize(length_)),
        blocks_per_image_((length_ + block_rows_ - 1) / block_rows_) {}

  int64_t count() const { return grid_.images * blocks_per_image_; }
  int64_t rows() const { return block_rows_; }

  RowBlock operator[](int64_t index) const {
    const int64_t image = index / blocks_per_image_,
                  begin = index % blocks_per_image_ * block_rows_;
    RowBlock block{.first = image * grid_.image_stride + begin,
                   .count = std::min(block_rows_, length_ - begin)};
    int64_t y = begin / row_stride(), x = begin % row_stride();
    for (int64_t i = 0; i < block.count; ++i) {
      const bool counts = x < grid_.width;
      block.row_offsets[i] =
          counts ? ((image * grid_.height + y) * grid_.width + x) * columns_ : -1;
      if (++x == row_stride()) {
        x = 0;
        ++y;
      }
    }
    return block;
  }

 private:
  int64_t row_stride() const { return std::max(grid_.row_stride, grid_.width); }

  const OutputGrid grid_;
  const int64_t columns_, length_, block_rows_, blocks_per_image_;
};

}  // namespace

absl::StatusOr<Tensor> PackWeights(KernelContext& ctx, const MicroKernel& kernel,
                                   const ScaledWeights& given, gemm::Weights weights,
                                   PackedWeights* packed) {
  const auto pack = [&](const Tensor& values) -> absl::StatusOr<Tensor> {
    weights.data = values.data<float>();
    const int64_t size = kernel.PackedSize(weights.positions, weights.depth, weights.columns);
    ASSIGN_OR_RETURN(Tensor workspace, Tensor::Allocate(DType::kInt8, {size}, WeightsAllocator()));
    char* const to = reinterpret_cast<char*>(workspace.data<int8_t>());
    std::atomic<bool> has_products{true};
    const int64_t panels = gemm::Blocks(weights.columns);
    const double floats = weights.positions * weights.depth * gemm::kBlock;
    ctx.ParallelFor(panels, floats / SpeedsForCpu().packed_floats, [&](int64_t begin, int64_t end) {
      PopulatePages(to + begin * size / panels, (end - begin) * size / panels);
      if (!kernel.Pack(weights, begin, end, to)) has_products = false;
    });
    if (has_products) return workspace;
    return Tensor::Allocate(DType::kInt8, {0}, WeightsAllocator());
  };
  return packed->Get(ctx, given, {.kind = PackedFormat::Kind::kPanels}, pack);
}

int64_t RowsPerPass(const KernelContext& ctx, const MicroKernel& kernel, int64_t length,
                    int64_t positions, int64_t depth, int64_t columns) {
  // With shared columns each thread reads all rows, otherwise only its own.
  const bool shares_columns = SharesColumns(kernel, positions, depth, columns);
  const int64_t bytes = SpeedsForCpu().product_cache_bytes * (shares_columns ? 1 : NumThreads(ctx));
  const int64_t depth_per_pass =
      shares_columns ? std::min(depth, kDepthBlocksPerPass * gemm::kBlock) : depth;
  const int64_t row_bytes =
      kernel.PackedRowsSize(2, depth_per_pass) - kernel.PackedRowsSize(1, depth_per_pass);
  const int64_t most = std::max(gemm::kMaxRows, bytes / row_bytes);
  const int64_t times = (length + most - 1) / most;
  if (times <= 1) return std::max(length, gemm::kMaxRows);
  // The passes are equal and consist of whole blocks.
  const int64_t block = kernel.RowBlockSize(most);
  return std::max(block, ((length + times - 1) / times + block - 1) / block * block);
}

void BlockedGemm(KernelContext& ctx, const MicroKernel& kernel, const gemm::Product& product,
                 const OutputGrid& grid, const PostOps& post_ops, const float* bias, float* out) {
  const Epilogue last = FullEpilogue(post_ops, bias);
  const RowBlocks blocks(kernel, grid, product.columns);
  const int64_t panels = gemm::Blocks(product.columns), depth = product.rows.depth;
  const double block_flops = 2.0 * product.positions * depth * blocks.rows() * gemm::kBlock;
  const double block_cost = block_flops / FlopsPerNanosecond(kernel) + 100;
  if (!SharesColumns(kernel, product.positions, depth, product.columns)) {
    ctx.ParallelFor(blocks.count(), block_cost * panels, [&](int64_t begin, int64_t end) {
      kernel.ConfigureTiles();
      for (int64_t i = begin; i < end; ++i) {
        const RowBlock block = blocks[i];
        kernel.MultiplyPanels(product, block.first, block.count, 0, panels, block.row_offsets, last,
                              out);
      }
      kernel.ReleaseTiles();
    });
    return;
  }
  std::vector<RowBlock> all;
  for (int64_t i = 0; i < blocks.count(); ++i) all.push_back(blocks[i]);
  const int64_t depth_blocks = product.end_block;
  const int64_t panel_size = kernel.PackedSize(product.positions, depth, 1);
  const bool is_skinny = all.size() == 1 && all[0].count <= kernel.skinny_rows();
  ctx.ParallelFor(panels, block_cost * all.size(), [&](int64_t begin, int64_t end) {
    kernel.ConfigureTiles();
    gemm::Product part = product;
    Epilogue epilogue = ClampEpilogue({.add = post_ops.add}, nullptr);
    for (int64_t first = 0; first < depth_blocks; first = part.end_block) {
      part.first_block = first;
      part.end_block = std::min(first + kDepthBlocksPerPass, depth_blocks);
      if (part.end_block == depth_blocks) {
        const bool add = epilogue.add;
        epilogue = last;
        epilogue.add = add;
      }
      // While all row blocks are multiplied by one panel, each of them prefetches a share of the
      // next panel. This holds at `end` too, because the thread usually takes the next range as
      // well.
      const int64_t strip_size = panel_size / kernel.strips();
      const int64_t from = strip_size * first / depth_blocks;
      const int64_t share =
          (strip_size * part.end_block / depth_blocks - from) / static_cast<int64_t>(all.size());
      if (is_skinny) {
        kernel.MultiplyPanels(part, all[0].first, all[0].count, begin, end, all[0].row_offsets,
                              epilogue, out);
      }
      for (int64_t panel = begin; panel < end && !is_skinny; ++panel) {
        const char* next = product.weights + (panel + 1) * panel_size + from;
        for (const RowBlock& block : all) {
          if (panel + 1 < panels) part.prefetch = {next, kernel.strips(), share, strip_size};
          kernel.MultiplyBlock(part, block.first, block.count, panel, block.row_offsets, epilogue,
                               out);
          next += share;
        }
        part.prefetch = {};
      }
      epilogue.add = true;
    }
    kernel.ReleaseTiles();
  });
}

absl::Status ParallelItems(KernelContext& ctx, int64_t count, int64_t rows, ComputeItems compute,
                           int64_t min_rows) {
  const int threads = NumThreads(ctx);
  if (threads == 1 || count < threads || count * rows < threads * min_rows) {
    return compute(ctx, 0, count);
  }
  // Every thread gets the same number of chunks, at most four, so that a thread that starts late
  // takes fewer. A chunk reads all weights, so chunks are kept at twice the minimum length.
  const int64_t per_thread = std::min(count, count * rows / (2 * min_rows)) / threads;
  const int64_t chunks = threads * std::clamp<int64_t>(per_thread, 1, 4);
  constexpr double kLong = 1e6;
  return ForEachChunk(ctx, chunks, kLong, [&](int64_t chunk) {
    const int64_t first = count * chunk / chunks, end = count * (chunk + 1) / chunks;
    StepContext step = ctx.step();
    step.intra_op_pool = nullptr;
    KernelContext alone(step, ctx.device());
    return compute(alone, first, end - first);
  });
}

absl::StatusOr<Tensor> PackMatrix(KernelContext& ctx, const MicroKernel& kernel,
                                  const GemmArguments& g) {
  const gemm::Weights weights{.depth = g.k,
                              .columns = g.n,
                              .row_stride = g.transpose_b ? 1 : g.n,
                              .column_stride = g.transpose_b ? g.k : 1};
  return PackWeights(ctx, kernel, g.b, weights, g.packed);
}

absl::Status BlockedMatMul(KernelContext& whole, const MicroKernel& kernel, const GemmArguments& g,
                           ComputeItems fallback) {
  const int64_t n = g.n, k = g.k;
  ASSIGN_OR_RETURN(const Tensor matrix, PackMatrix(whole, kernel, g));
  if (matrix.num_elements() == 0) return fallback(whole, 0, g.m);
  const auto multiply = [&](KernelContext& ctx, int64_t begin, int64_t length) {
    const int64_t most = std::min(length, RowsPerPass(ctx, kernel, length, 1, k, n));
    gemm::Product product{.weights = matrix.raw(), .columns = n, .end_block = gemm::Blocks(k)};
    product.rows = {.count = most, .depth = k};
    Tensor workspace;
    if (!kernel.ReadsRowsInPlace(k)) {
      ASSIGN_OR_RETURN(workspace, ctx.AllocateTemp(DType::kInt8, {kernel.PackedRowsSize(most, k)}));
      product.rows.data = workspace.data<int8_t>();
    }
    for (int64_t first = begin; first < begin + length; first += most) {
      const int64_t rows = std::min(most, begin + length - first);
      const float* const from = g.a + first * k;
      std::atomic<bool> has_products{true};
      if (workspace.has_value()) {
        ctx.ParallelFor(rows, k / SpeedsForCpu().packed_floats, [&](int64_t row, int64_t end) {
          if (!kernel.PackRows(from + row * k, k, row, end - row, product.rows)) {
            has_products = false;
          }
        });
      } else {
        product.rows.data = const_cast<float*>(from);  // it is only read
      }
      if (has_products) {
        BlockedGemm(ctx, kernel, product, {.width = rows}, g.post_ops, g.bias,
                    g.output + first * n);
      } else {
        RETURN_IF_ERROR(fallback(ctx, first, rows));
      }
    }
    return absl::OkStatus();
  };
  return ParallelItems(whole, g.m, 1, multiply);
}

absl::Status StrassenMatMul(KernelContext& whole, const GemmArguments& g, ComputeItems fallback) {
  ASSIGN_OR_RETURN(const Tensor matrix, PackMatrix(whole, gemm::FmaMicroKernel(), g));
  if (matrix.num_elements() == 0) return fallback(whole, 0, g.m);
  const float* const panels = reinterpret_cast<const float*>(matrix.raw());
  ASSIGN_OR_RETURN(const Tensor balanced,
                   g.packed->GetDerived(g.b, {.kind = PackedFormat::Kind::kBalancedPanels},
                                        [&] { return BalancedPanels(g.n, g.k, panels); }));
  const auto multiply = [&](KernelContext& ctx, int64_t first, int64_t count) {
    const StrassenProduct product{.m = count,
                                  .n = g.n,
                                  .k = g.k,
                                  .a = g.a + first * g.k,
                                  .panels = panels,
                                  .balanced = balanced.raw(),
                                  .epilogue = FullEpilogue(g.post_ops, g.bias),
                                  .out = g.output + first * g.n};
    // With too few rows for all threads each of them takes all rows, and a share of the columns.
    return ParallelItems(
        ctx, StrassenPairs(g.n), 1,
        [&](KernelContext& alone, int64_t first_pair, int64_t pairs) {
          return StrassenGemm(alone, product, first_pair, first_pair + pairs);
        },
        kMinStrassenPairs);
  };
  return ParallelItems(whole, g.m, 1, multiply, MinStrassenRows(SpeedsForCpu()));
}

}  // namespace tessera
