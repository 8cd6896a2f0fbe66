#include "runtime/kernels/primitives/cpu/panel_product.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/base/fresh_pages.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_share.h"
#include "runtime/kernels/primitives/cpu/activation_loop.h"
#include "runtime/kernels/primitives/cpu/float_panels.h"
#include "runtime/kernels/primitives/cpu/pieces.h"
#include "runtime/kernels/primitives/cpu/split_float.h"
#include "runtime/kernels/primitives/cpu/strassen_product.h"

namespace tessera {
namespace {

using panel::PanelKernel;

// Of a core's second-level cache, what rows or weights may take.
constexpr int64_t kCacheBytes = 1 << 20;
// Blocks of terms that are added up at once where threads go by panels: sums wait in the output
// meanwhile, which leaves room for more rows in the cache.
constexpr int64_t kBlocksAtOnce = 32;

bool MayUseTiles() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Weights beyond the cache are read once for all rows at hand, rather than once for each block of
// rows: then threads share out columns.
bool GoesByPanels(const PanelKernel& kernel, int64_t taps, int64_t terms, int64_t columns) {
  return kernel.PackedSize(taps, terms, columns) > kCacheBytes * 3 / 8;
}

int NumThreads(const KernelContext& ctx) {
  return ctx.pool() == nullptr ? 1 : ThreadShare(ctx.pool()->num_threads());
}

// With an activation that does not clamp, too.
Ending LastEnding(const PostOps& post_ops, const float* bias) {
  Ending ending = EndingOf(post_ops, bias);
  ending.activate = ActivationLoopOf(post_ops.activation);
  ending.alpha = post_ops.alpha;
  return ending;
}

// Rows of a product that are computed at once, and where they go.
struct RowBlock {
  int64_t first = 0, count = 0;
  int64_t places[panel::kMostRows];
};

// Blocks that hold all outputs, some for each image.
class RowBlocks {
 public:
  RowBlocks(const PanelKernel& kernel, const OutputGrid& grid, int64_t columns)
      : grid_(grid),
        columns_(columns),
        length_((grid.height - 1) * grid.row_step + grid.width),
        a_block_(kernel.BlockRows(length_)),
        an_image_((length_ + a_block_ - 1) / a_block_) {}

  int64_t count() const { return grid_.images * an_image_; }
  int64_t rows() const { return a_block_; }

  RowBlock operator[](int64_t index) const {
    const int64_t image = index / an_image_, begin = index % an_image_ * a_block_;
    RowBlock block{.first = image * grid_.image_step + begin,
                   .count = std::min(a_block_, length_ - begin)};
    int64_t y = begin / row_step(), x = begin % row_step();
    for (int64_t i = 0; i < block.count; ++i) {
      const bool counts = x < grid_.width;
      block.places[i] = counts ? ((image * grid_.height + y) * grid_.width + x) * columns_ : -1;
      if (++x == row_step()) {
        x = 0;
        ++y;
      }
    }
    return block;
  }

 private:
  int64_t row_step() const { return std::max(grid_.row_step, grid_.width); }

  const OutputGrid grid_;
  const int64_t columns_, length_, a_block_, an_image_;
};

}  // namespace

bool SplitPanelsAreSupported() {
  static const bool supported = static_cast<int>(dnnl::get_effective_cpu_isa()) >=
                                    static_cast<int>(dnnl::cpu_isa::avx512_core_amx) &&
                                MayUseTiles();
  return supported;
}

bool FloatPanelsAreSupported() {
  static const bool supported = static_cast<int>(dnnl::get_effective_cpu_isa()) >=
                                static_cast<int>(dnnl::cpu_isa::avx512_core);
  return supported;
}

const PanelKernel* PanelKernelFor(int64_t n, int64_t k, int64_t taps, int64_t rows) {
  constexpr int64_t kMostSplit = 16 << 20;
  // Splitting a row costs as much as multiplying it with some 50 columns. Of very large weights
  // half as many more bytes would be too much memory.
  const bool splits_little = n >= 96 || (n >= 64 && taps >= 9);
  if (splits_little && k >= panel::kBlock && n * k * taps <= kMostSplit &&
      SplitPanelsAreSupported()) {
    return &panel::SplitPanels();
  }
  // oneDNN is as fast, or faster, where it does not wait for weights.
  constexpr int64_t kLeastColumns = 32, kLeastTerms = 16, kWeightsARow = 512;
  const bool pays = n >= kLeastColumns && k >= kLeastTerms && n * k * taps >= kWeightsARow * rows &&
                    FloatPanelsAreSupported();
  return pays ? &panel::FloatPanels() : nullptr;
}

bool HasRowsEnough(const PanelKernel& kernel, int64_t m, int64_t n, int64_t k, int64_t taps) {
  // Few rows wait for their weights, which parts make longer.
  const bool splits = &kernel == &panel::SplitPanels();
  const int64_t least_rows = splits ? 16 : 5, least_products = (splits ? 256 : 64) << 10;
  return m >= least_rows && m * n * k * taps >= least_products;
}

absl::StatusOr<Tensor> PackPanels(KernelContext& ctx, const PanelKernel& kernel,
                                  const ScaledWeights& given, panel::Weights weights,
                                  PackedWeights* packed) {
  const auto pack = [&](const float* values) -> absl::StatusOr<Tensor> {
    weights.data = values;
    const int64_t size = kernel.PackedSize(weights.taps, weights.terms, weights.columns);
    ASSIGN_OR_RETURN(Tensor room, Tensor::Allocate(DType::kInt8, {size}, WeightsAllocator()));
    char* const to = reinterpret_cast<char*>(room.data<int8_t>());
    std::atomic<bool> has_products{true};
    const int64_t panels = panel::Blocks(weights.columns);
    const double floats = weights.taps * weights.terms * panel::kBlock;
    ctx.ParallelFor(panels, floats / kPackedFloatsANanosecond, [&](int64_t begin, int64_t end) {
      PopulatePages(to + begin * size / panels, (end - begin) * size / panels);
      if (!kernel.Pack(weights, begin, end, to)) has_products = false;
    });
    if (has_products) return room;
    return Tensor::Allocate(DType::kInt8, {0});
  };
  return packed->Derived(ctx, given, WeightsForm::kPanels, pack);
}

int64_t RowsAtOnce(const KernelContext& ctx, const PanelKernel& kernel, int64_t length,
                   int64_t taps, int64_t terms, int64_t columns) {
  // By panels each thread reads all rows, else each its own.
  const bool by_panels = GoesByPanels(kernel, taps, terms, columns);
  const int64_t bytes = by_panels ? kCacheBytes : kCacheBytes * NumThreads(ctx);
  const int64_t terms_at_once = by_panels ? std::min(terms, kBlocksAtOnce * panel::kBlock) : terms;
  const int64_t a_row = kernel.RowsSize(2, terms_at_once) - kernel.RowsSize(1, terms_at_once);
  const int64_t most = std::max(panel::kMostRows, bytes / a_row);
  const int64_t times = (length + most - 1) / most;
  if (times <= 1) return std::max(length, panel::kMostRows);
  // Equal shares, of whole blocks.
  const int64_t block = kernel.BlockRows(most);
  return std::max(block, ((length + times - 1) / times + block - 1) / block * block);
}

void MultiplyPanels(KernelContext& ctx, const PanelKernel& kernel, const panel::Product& product,
                    const OutputGrid& grid, const PostOps& post_ops, const float* bias,
                    float* out) {
  const Ending last = LastEnding(post_ops, bias);
  const RowBlocks blocks(kernel, grid, product.columns);
  const int64_t panels = panel::Blocks(product.columns), terms = product.rows.terms;
  const double block_flops = 2.0 * product.taps * terms * blocks.rows() * panel::kBlock;
  const double block_cost = block_flops / kernel.flops_a_nanosecond() + 100;
  if (!GoesByPanels(kernel, product.taps, terms, product.columns)) {
    ctx.ParallelFor(blocks.count(), block_cost * panels, [&](int64_t begin, int64_t end) {
      kernel.Begin();
      for (int64_t i = begin; i < end; ++i) {
        const RowBlock block = blocks[i];
        for (int64_t panel = 0; panel < panels; ++panel) {
          kernel.MultiplyBlock(product, block.first, block.count, panel, block.places, last, out);
        }
      }
      kernel.End();
    });
    return;
  }
  std::vector<RowBlock> all;
  for (int64_t i = 0; i < blocks.count(); ++i) all.push_back(blocks[i]);
  const int64_t term_blocks = product.end_block;
  const int64_t panel_size = kernel.PackedSize(product.taps, terms, 1);
  ctx.ParallelFor(panels, block_cost * all.size(), [&](int64_t begin, int64_t end) {
    kernel.Begin();
    panel::Product part = product;
    Ending ending = EndingOf({.add = post_ops.add}, nullptr);
    for (int64_t first = 0; first < term_blocks; first = part.end_block) {
      part.first_block = first;
      part.end_block = std::min(first + kBlocksAtOnce, term_blocks);
      if (part.end_block == term_blocks) {
        const bool add = ending.add;
        ending = last;
        ending.add = add;
      }
      // While the blocks go through one panel, each brings its share of the next one, even from
      // beyond `end`: most ranges are followed by one that this thread takes, too.
      const int64_t from = panel_size * first / term_blocks;
      const int64_t share =
          (panel_size * part.end_block / term_blocks - from) / static_cast<int64_t>(all.size());
      for (int64_t panel = begin; panel < end; ++panel) {
        part.ahead_bytes = panel + 1 < panels ? share : 0;
        part.ahead = product.weights + (panel + 1) * panel_size + from;
        for (const RowBlock& block : all) {
          kernel.MultiplyBlock(part, block.first, block.count, panel, block.places, ending, out);
          part.ahead += share;
        }
      }
      ending.add = true;
    }
    kernel.End();
  });
}

absl::Status ShareItems(KernelContext& ctx, int64_t count, int64_t rows, ComputeItems compute,
                        int64_t least_rows) {
  const int threads = NumThreads(ctx);
  if (threads == 1 || count < threads || count * rows < threads * least_rows) {
    return compute(ctx, 0, count);
  }
  // The same number for each thread, and up to four of them, so that a thread that comes late takes
  // fewer. Each goes through all weights: several are longer than one needs to be.
  const int64_t a_thread = std::min(count, count * rows / (2 * least_rows)) / threads;
  const int64_t pieces = threads * std::clamp<int64_t>(a_thread, 1, 4);
  constexpr double kLong = 1e6;
  return ForEachPiece(ctx, pieces, kLong, [&](int64_t piece) {
    const int64_t first = count * piece / pieces, end = count * (piece + 1) / pieces;
    StepContext step = ctx.step();
    step.intra_op_pool = nullptr;
    KernelContext alone(step, ctx.device());
    return compute(alone, first, end - first);
  });
}

absl::Status MatMulPanels(KernelContext& whole, const PanelKernel& kernel, int64_t m, int64_t n,
                          int64_t k, bool transpose_b, const PostOps& post_ops, const float* a,
                          const ScaledWeights& b, const float* bias, PackedWeights* packed,
                          float* output, ComputeItems compute_exactly) {
  const panel::Weights weights{.terms = k,
                               .columns = n,
                               .row_step = transpose_b ? 1 : n,
                               .column_step = transpose_b ? k : 1};
  ASSIGN_OR_RETURN(const Tensor matrix, PackPanels(whole, kernel, b, weights, packed));
  if (matrix.num_elements() == 0) return compute_exactly(whole, 0, m);
  if (&kernel == &panel::FloatPanels() && StrassenPays(m / NumThreads(whole), n, k)) {
    const auto multiply = [&](KernelContext& ctx, int64_t first, int64_t count) {
      return MultiplyByStrassen(ctx, count, n, k, a + first * k,
                                reinterpret_cast<const float*>(matrix.raw()),
                                LastEnding(post_ops, bias), output + first * n);
    };
    return ShareItems(whole, m, 1, multiply, kLeastStrassenRows);
  }
  const auto multiply = [&](KernelContext& ctx, int64_t begin, int64_t length) {
    const int64_t most = std::min(length, RowsAtOnce(ctx, kernel, length, 1, k, n));
    panel::Product product{.weights = matrix.raw(), .columns = n, .end_block = panel::Blocks(k)};
    product.rows = {.count = most, .terms = k};
    Tensor room;
    if (!kernel.TakesRowsAsTheyLie(k)) {
      ASSIGN_OR_RETURN(room, ctx.AllocateTemp(DType::kInt8, {kernel.RowsSize(most, k)}));
      product.rows.data = room.data<int8_t>();
    }
    for (int64_t first = begin; first < begin + length; first += most) {
      const int64_t rows = std::min(most, begin + length - first);
      const float* const from = a + first * k;
      std::atomic<bool> has_products{true};
      if (room.has_value()) {
        ctx.ParallelFor(rows, k / kPackedFloatsANanosecond, [&](int64_t row, int64_t end) {
          if (!kernel.Put(from + row * k, k, row, end - row, product.rows)) has_products = false;
        });
      } else {
        product.rows.data = const_cast<float*>(from);  // not written
      }
      if (has_products) {
        MultiplyPanels(ctx, kernel, product, {.width = rows}, post_ops, bias, output + first * n);
      } else {
        RETURN_IF_ERROR(compute_exactly(ctx, first, rows));
      }
    }
    return absl::OkStatus();
  };
  return ShareItems(whole, m, 1, multiply);
}

}  // namespace tessera
