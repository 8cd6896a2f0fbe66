// MaxSpanningTree: the directed spanning trees of highest score, as parsers of dependencies need
// them.
//
// R. Tarjan, Finding Optimum Branchings, Networks 7, 1977, in the form for dense graphs, with the
// correction by P. Camerini, L. Fratta, F. Maffioli, A Note on Finding Optimum Branchings,
// Networks 9, 1979.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// Disjoint sets of nodes.
class NodeSets {
 public:
  explicit NodeSets(int32_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }

  int32_t Find(int32_t node) {
    while (parents_[node] != node) {
      parents_[node] = parents_[parents_[node]];
      node = parents_[node];
    }
    return node;
  }
  // Makes the set of `node` part of that of `whole`, whose representative stays.
  void Join(int32_t node, int32_t whole) { parents_[Find(node)] = Find(whole); }

 private:
  std::vector<int> parents_;
};

// Finds the tree of one graph. Node 0 is an artificial root; an arc from it makes a node a root.
// Each node takes its best inbound arc. Where such arcs form a cycle, a new node stands for the
// cycle, and its inbound arcs are those of the cycle's nodes, whose score is what it gains to break
// the cycle there.
template <typename T>
class BranchingFinder {
 public:
  struct Arc {
    T score;
    int32_t source;
    int32_t target;  // 0: there is no arc
  };

  // Returns the number of arcs for which a graph of so many nodes needs memory.
  static int64_t NumArcs(int64_t num_nodes) { return (2 * num_nodes + 1) * (num_nodes + 1); }

  // The arc from `source` to `target` has the score scores[target * stride + source], and there is
  // none if that is not finite; a node's arc from itself makes it a root.
  template <typename Score>
  BranchingFinder(int32_t num_nodes, const Score* scores, int64_t stride, Arc* memory)
      : num_sources_(num_nodes + 1),
        num_targets_(num_sources_),
        arcs_(memory),
        weak_(num_sources_),
        strong_(num_sources_),
        whole_(2 * num_nodes + 1) {
    std::fill_n(arcs_, int64_t{num_sources_} * num_sources_, Arc{});
    for (int32_t target = 1; target <= num_nodes; ++target) {
      for (int32_t source = 1; source <= num_nodes; ++source) {
        const Score score = scores[(target - 1) * stride + source - 1];
        if (!std::isfinite(static_cast<double>(score))) continue;
        const int32_t from = source == target ? 0 : source;
        Inbound(target)[from] = {static_cast<T>(score), from, target};
      }
    }
  }

  // Lowers the scores of roots by so much that a tree with one root always beats those with more.
  void PreferOneRoot() {
    T least = std::numeric_limits<T>::max(), largest = std::numeric_limits<T>::lowest();
    for (const Arc& arc : absl::MakeSpan(arcs_, int64_t{num_sources_} * num_sources_)) {
      if (arc.target == 0) continue;
      least = std::min(least, arc.score);
      largest = std::max(largest, arc.score);
    }
    if (largest < least) return;
    const T penalty = 1 + static_cast<T>(num_sources_) * (largest - least);
    for (int32_t node = 1; node < num_sources_; ++node) Inbound(node)[0].score -= penalty;
  }

  // Sets the source of each node, the node itself for a root, and returns the number of roots; 0 if
  // there is no tree.
  int32_t Find(int32_t* sources) {
    chosen_.resize(1);
    container_.resize(num_targets_, 0);
    for (int32_t node = 1; node < num_targets_; ++node) {
      const Arc* const best = BestInbound(node);
      if (best == nullptr) return 0;
      chosen_.push_back(*best);
      if (best->source == 0) continue;
      if (weak_.Find(best->source) == weak_.Find(best->target)) {
        Contract(node);
      } else {
        weak_.Join(best->source, best->target);
      }
    }
    BreakCycles();
    int32_t roots = 0;
    for (int32_t node = 1; node < num_sources_; ++node) {
      const bool is_root = chosen_[node].source == 0;
      roots += is_root ? 1 : 0;
      sources[node - 1] = is_root ? node - 1 : chosen_[node].source - 1;
    }
    return roots;
  }

 private:
  // The arcs into a node, by their source.
  Arc* Inbound(int32_t node) { return arcs_ + int64_t{node} * num_sources_; }

  // Returns the inbound arc of highest score, of equal ones the last; null if there is none.
  const Arc* BestInbound(int32_t node) {
    const Arc* best = nullptr;
    T largest = std::numeric_limits<T>::lowest();
    for (const Arc& arc : absl::MakeSpan(Inbound(node), num_sources_)) {
      if (arc.target == 0 || !(arc.score >= largest)) continue;
      largest = arc.score;
      best = &arc;
    }
    return best;
  }

  // Replaces the cycle of chosen arcs through `node` by a new node.
  void Contract(int32_t node) {
    std::vector<int> cycle;
    do {
      cycle.push_back(node);
      const Arc& arc = chosen_[node];
      strong_.Join(arc.source, arc.target);
      node = whole_.Find(arc.source);
    } while (node != cycle[0]);
    const int32_t contracted = num_targets_++;
    container_.push_back(0);
    Arc* const merged = Inbound(contracted);
    std::fill_n(merged, num_sources_, Arc{});
    for (const int member : cycle) {
      whole_.Join(member, contracted);
      container_[member] = contracted;
      const T lost = chosen_[member].score;
      for (int32_t source = 0; source < num_sources_; ++source) {
        const Arc& arc = Inbound(member)[source];
        if (arc.target == 0 || strong_.Find(arc.source) == strong_.Find(arc.target)) continue;
        const T score = arc.score - lost;
        if (merged[source].target == 0 || merged[source].score < score) {
          merged[source] = {score, arc.source, arc.target};
        }
      }
    }
  }

  // Undoes the contractions, the last first: the arc into a contracted node breaks its cycle, and
  // all cycles within it around the arc's target.
  void BreakCycles() {
    std::vector<bool> is_broken(num_targets_, false);
    for (int32_t node = num_targets_ - 1; node >= num_sources_; --node) {
      if (is_broken[node]) continue;
      const Arc arc = chosen_[node];
      chosen_[arc.target] = arc;
      for (int32_t inner = container_[arc.target]; inner != node; inner = container_[inner]) {
        is_broken[inner] = true;
      }
    }
  }

  const int32_t num_sources_;  // the artificial root among them
  int32_t num_targets_;        // contracted nodes among them
  Arc* const arcs_;
  std::vector<Arc> chosen_;     // into each node
  std::vector<int> container_;  // the contracted node that a node is part of, or 0
  NodeSets weak_;               // nodes that chosen arcs connect
  NodeSets strong_;             // nodes of one cycle
  NodeSets whole_;              // nodes of one contracted node, which represents them
};

// Inputs: the numbers of nodes of the graphs, and the scores of arcs by graph, target and source;
// the score of a node as a root stands on the diagonal. What is not finite is no arc. Outputs: the
// scores of the best trees, or forests if `forest` is set, and the source of each node, the node
// itself for a root, and -1 behind the last.
// Errors: INVALID_ARGUMENT for shapes and numbers of nodes that do not fit; FAILED_PRECONDITION for
// a graph without such a tree.
class MaxSpanningTreeKernel final : public OpKernel {
 public:
  explicit MaxSpanningTreeKernel(const KernelBuild& build)
      : is_forest_(build.attr<bool>("forest")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& sizes = ctx.input(0);
    const Tensor& scores = ctx.input(1);
    if (scores.rank() != 3 || scores.dim(1) != scores.dim(2) ||
        sizes.shape() != Shape{scores.dim(0)}) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_nodes of shape [b] and scores of shape [b, n, n] are wanted, they have "
                       "shapes ",
                       sizes.shape().ToString(), " and ", scores.shape().ToString()));
    }
    switch (scores.dtype()) {
      case DType::kInt32:
        return FindAll<int32_t>(ctx);
      case DType::kFloat:
        return FindAll<float>(ctx);
      default:
        return FindAll<double>(ctx);
    }
  }

 private:
  template <typename T>
  absl::Status FindAll(KernelContext& ctx) const {
    const auto sizes = ctx.input(0).flat<int32_t>();
    const int64_t batch = ctx.input(1).dim(0), width = ctx.input(1).dim(1);
    ASSIGN_OR_RETURN(Tensor* const totals, ctx.AllocateOutput(0, Shape{batch}));
    ASSIGN_OR_RETURN(Tensor* const sources, ctx.AllocateOutput(1, Shape{batch, width}));
    std::vector<absl::Status> statuses(batch);
    const double cost = 20.0 * static_cast<double>(width * width);
    ctx.ParallelFor(batch, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        statuses[i] =
            Find(ctx, i, sizes[i], width, ctx.input(1).flat<T>().data() + i * width * width,
                 totals->data<T>() + i, sources->data<int32_t>() + i * width);
      }
    });
    for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
    return absl::OkStatus();
  }

  template <typename T>
  absl::Status Find(KernelContext& ctx, int64_t graph, int32_t size, int64_t width, const T* scores,
                    T* total, int32_t* sources) const {
    constexpr int32_t kMostNodes = 32767;  // TensorFlow's
    if (size <= 0 || size > width || size >= kMostNodes) {
      return absl::InvalidArgumentError(
          absl::StrCat("graph ", graph, " has ", size, " nodes; 1 to ",
                       std::min<int64_t>(width, kMostNodes - 1), " are allowed"));
    }
    // Whole numbers are added up in 64 bits, which the scores of contracted nodes cannot exceed.
    using Sum = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
    using Finder = BranchingFinder<Sum>;
    ASSIGN_OR_RETURN(Tensor memory,
                     ctx.AllocateTemp(DType::kUint8, Shape{Finder::NumArcs(size),
                                                           int64_t{sizeof(typename Finder::Arc)}}));
    Finder finder(size, scores, width,
                  reinterpret_cast<typename Finder::Arc*>(memory.mutable_raw()));
    if (!is_forest_) finder.PreferOneRoot();
    const int32_t roots = finder.Find(sources);
    if (roots == 0 || (!is_forest_ && roots != 1)) {
      return absl::FailedPreconditionError(absl::StrCat("graph ", graph, " has no spanning tree"));
    }
    Sum sum = 0;
    for (int32_t target = 0; target < size; ++target) {
      sum += static_cast<Sum>(scores[target * width + sources[target]]);
    }
    *total = static_cast<T>(sum);
    std::fill(sources + size, sources + width, -1);
    return absl::OkStatus();
  }

  const bool is_forest_;
};
REGISTER_KERNEL("MaxSpanningTree", kCpu, MaxSpanningTreeKernel);

}  // namespace
}  // namespace tessera
