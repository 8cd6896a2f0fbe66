#include "runtime/kernels/cpu/split_product.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/base/status.h"
#include "runtime/kernels/cpu/activation_loop.h"
#include "runtime/kernels/cpu/pieces.h"

namespace tessera {
namespace {

// Operations of products that one core does in a nanosecond, about.
constexpr double kFlopsANanosecond = 350;
// Of a core's second-level cache, what rows or weights may take.
constexpr int64_t kCacheBytes = 768 << 10;
// Blocks of terms that are added up at once where threads go by panels: sums wait in the output
// meanwhile, which leaves room for more rows in the cache.
constexpr int64_t kBlocksAtOnce = 32;

bool MayUseTiles() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

int64_t WeightBytes(int64_t taps, int64_t terms, int64_t columns) {
  return split::PackedSize(taps, terms, columns) * sizeof(uint16_t);
}

// Weights beyond the cache are read once for all rows at hand, rather than once for each block of
// rows: then threads share out columns.
bool GoesByPanels(int64_t taps, int64_t terms, int64_t columns) {
  return WeightBytes(taps, terms, columns) > kCacheBytes / 2;
}

int NumThreads(const KernelContext& ctx) {
  return ctx.pool() == nullptr ? 1 : ctx.pool()->num_threads();
}

// Rows of a product that are computed at once, and where they go.
struct RowBlock {
  int64_t first = 0, count = 0;
  int64_t places[split::kRows];
};

// Blocks that hold all outputs, some for each image.
class RowBlocks {
 public:
  RowBlocks(const OutputGrid& grid, int64_t columns)
      : grid_(grid),
        columns_(columns),
        length_((grid.height - 1) * grid.row_step + grid.width),
        an_image_((length_ + split::kRows - 1) / split::kRows) {}

  int64_t count() const { return grid_.images * an_image_; }

  RowBlock operator[](int64_t index) const {
    const int64_t image = index / an_image_, begin = index % an_image_ * split::kRows;
    RowBlock block{.first = image * grid_.image_step + begin,
                   .count = std::min(split::kRows, length_ - begin)};
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
  const int64_t columns_, length_, an_image_;
};

}  // namespace

bool SplitProductsAreSupported() {
  static const bool supported = static_cast<int>(dnnl::get_effective_cpu_isa()) >=
                                    static_cast<int>(dnnl::cpu_isa::avx512_core_amx) &&
                                MayUseTiles();
  return supported;
}

bool SplitProductPays(int64_t m, int64_t n, int64_t k, int64_t taps) {
  constexpr int64_t kLeastProducts = 256 << 10, kMostWeights = 16 << 20;
  // Splitting a row costs as much as multiplying it with some 50 columns.
  const bool splits_little = n >= 96 || (n >= 64 && taps >= 9);
  // Few rows wait for their weights, which half as many more bytes make longer; of very large ones
  // that would be too much memory.
  const bool has_rows = m >= 16 && n * k * taps <= kMostWeights;
  return splits_little && has_rows && k >= split::kBlock && m * n * k * taps >= kLeastProducts &&
         SplitProductsAreSupported();
}

absl::StatusOr<Tensor> PackSplit(KernelContext& ctx, const Tensor& tensor,
                                 const split::Weights& weights, PackedWeights* packed) {
  absl::Status status;
  Tensor result = packed->Derived(tensor, [&]() -> Tensor {
    const int64_t size = split::PackedSize(weights.taps, weights.terms, weights.columns);
    absl::StatusOr<Tensor> room = Tensor::Allocate(DType::kUint16, {size});
    if (!room.ok()) {
      status = room.status();
      return Tensor();
    }
    AskForHugePages(room->data<uint16_t>(), room->total_bytes());
    std::atomic<bool> has_split{true};
    const int64_t panels = split::Blocks(weights.columns);
    const double cost = static_cast<double>(size) / panels / kSplitFloatsANanosecond;
    ctx.ParallelFor(panels, cost, [&](int64_t begin, int64_t end) {
      if (!split::PackWeights(weights, begin, end, room->data<uint16_t>())) has_split = false;
    });
    if (has_split) return *std::move(room);
    return Tensor::Allocate(DType::kUint16, {0}).value_or(Tensor());
  });
  if (!status.ok()) return status;
  return result;
}

int64_t RowsAtOnce(const KernelContext& ctx, int64_t taps, int64_t terms, int64_t columns) {
  // By panels each thread reads all rows, else each its own.
  const bool by_panels = GoesByPanels(taps, terms, columns);
  const int64_t bytes = by_panels ? kCacheBytes : kCacheBytes * NumThreads(ctx);
  const int64_t terms_at_once = by_panels ? std::min(terms, kBlocksAtOnce * split::kBlock) : terms;
  const int64_t rows = bytes / (split::Rows::Size(1, terms_at_once) * sizeof(uint16_t));
  return std::max(split::kRows, rows / split::kRows * split::kRows);
}

void MultiplySplit(KernelContext& ctx, const split::Product& product, const OutputGrid& grid,
                   const PostOps& post_ops, const float* bias, float* out) {
  Ending last = EndingOf(post_ops, bias);
  last.activate = ActivationLoopOf(post_ops.activation);
  last.alpha = post_ops.alpha;
  const RowBlocks blocks(grid, product.columns);
  const int64_t panels = split::Blocks(product.columns);
  const double block_cost =
      2.0 * product.taps * product.terms * split::kRows * split::kBlock / kFlopsANanosecond + 100;
  if (!GoesByPanels(product.taps, product.terms, product.columns)) {
    ctx.ParallelFor(blocks.count(), block_cost * panels, [&](int64_t begin, int64_t end) {
      split::Begin();
      for (int64_t i = begin; i < end; ++i) {
        const RowBlock block = blocks[i];
        for (int64_t panel = 0; panel < panels; ++panel) {
          split::MultiplyBlock(product, block.first, block.count, panel, block.places, last, out);
        }
      }
      split::End();
    });
    return;
  }
  std::vector<RowBlock> all;
  for (int64_t i = 0; i < blocks.count(); ++i) all.push_back(blocks[i]);
  const int64_t term_blocks = product.end_block;
  ctx.ParallelFor(panels, block_cost * all.size(), [&](int64_t begin, int64_t end) {
    split::Begin();
    split::Product part = product;
    Ending ending = EndingOf({.add = post_ops.add}, nullptr);
    for (int64_t first = 0; first < term_blocks; first = part.end_block) {
      part.first_block = first;
      part.end_block = std::min(first + kBlocksAtOnce, term_blocks);
      if (part.end_block == term_blocks) {
        const bool add = ending.add;
        ending = last;
        ending.add = add;
      }
      // While the blocks go through one panel, each brings its share of the next one.
      const int64_t block_size = split::PackedSize(1, split::kBlock, 1);
      const int64_t share =
          (block_size / all.size() + split::kBlock - 1) / split::kBlock * split::kBlock;
      for (int64_t panel = begin; panel < end; ++panel) {
        part.ahead_step = panel + 1 < end ? share : 0;
        part.ahead = product.weights + (panel + 1) * split::PackedSize(part.taps, part.terms, 1) +
                     first * block_size;
        for (const RowBlock& block : all) {
          split::MultiplyBlock(part, block.first, block.count, panel, block.places, ending, out);
          part.ahead += part.taps * (part.end_block - first) * part.ahead_step;
        }
      }
      ending.add = true;
    }
    split::End();
  });
}

absl::Status ShareItems(KernelContext& ctx, int64_t count, int64_t rows, ComputeItems compute) {
  // Fewer do not make up for reading all weights.
  constexpr int64_t kRowsAThread = 128;
  const int threads = NumThreads(ctx);
  if (threads == 1 || count < threads || count * rows < threads * kRowsAThread) {
    return compute(ctx, 0, count);
  }
  // Two a thread, so that one that comes late takes fewer.
  const int64_t pieces = std::min<int64_t>({2 * threads, count, count * rows / kRowsAThread});
  const int64_t size = (count + pieces - 1) / pieces;
  constexpr double kLong = 1e6;
  return ForEachPiece(ctx, pieces, kLong, [&](int64_t piece) {
    const int64_t first = std::min(piece * size, count);
    if (first == count) return absl::OkStatus();
    StepContext step = ctx.step();
    step.intra_op_pool = nullptr;
    KernelContext alone(step, ctx.device());
    return compute(alone, first, std::min(size, count - first));
  });
}

absl::Status MatMulSplit(KernelContext& whole, int64_t m, int64_t n, int64_t k, bool transpose_b,
                         const PostOps& post_ops, const float* a, const Tensor& b,
                         const float* bias, PackedWeights* packed, float* output,
                         ComputeItems compute_exactly) {
  const split::Weights weights{.data = b.data<float>(),
                               .terms = k,
                               .columns = n,
                               .row_step = transpose_b ? 1 : n,
                               .column_step = transpose_b ? k : 1};
  ASSIGN_OR_RETURN(const Tensor matrix, PackSplit(whole, b, weights, packed));
  if (matrix.num_elements() == 0) return compute_exactly(whole, 0, m);
  return ShareItems(whole, m, 1, [&](KernelContext& ctx, int64_t begin, int64_t length) {
    const int64_t most = std::min(length, RowsAtOnce(ctx, 1, k, n));
    split::Product product{.weights = matrix.data<uint16_t>(),
                           .terms = k,
                           .columns = n,
                           .end_block = split::Blocks(k)};
    product.rows.count = most + split::kRows;
    ASSIGN_OR_RETURN(Tensor room,
                     ctx.AllocateTemp(DType::kUint16, {split::Rows::Size(product.rows.count, k)}));
    product.rows.data = room.data<uint16_t>();
    for (int64_t first = begin; first < begin + length; first += most) {
      const int64_t rows = std::min(most, begin + length - first);
      std::atomic<bool> has_split{true};
      ctx.ParallelFor(rows, k / kSplitFloatsANanosecond, [&](int64_t from, int64_t to) {
        bool all = true;
        for (int64_t block = 0; block < split::Blocks(k); ++block) {
          const int64_t term = block * split::kBlock;
          all &= split::SplitRows(a + (first + from) * k + term, k, to - from,
                                  std::min(split::kBlock, k - term), product.rows.plane(),
                                  product.rows.at(block, from));
        }
        if (!all) has_split = false;
      });
      if (has_split) {
        MultiplySplit(ctx, product, {.width = rows}, post_ops, bias, output + first * n);
      } else {
        RETURN_IF_ERROR(compute_exactly(ctx, first, rows));
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace tessera
