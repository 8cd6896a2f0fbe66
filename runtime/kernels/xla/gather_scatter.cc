// XlaGather and XlaScatter: slices of an operand, at starts that index vectors give.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/xla/combiner.h"
#include "runtime/kernels/xla/element_function.h"
#include "xla/xla_data.pb.h"

namespace tessera {
namespace {

using Dims = std::vector<int64_t>;

bool Contains(const Dims& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// How the dimensions of slices, indices and operand relate, for gathers and scatters alike.
struct SliceMap {
  Dims window_dims;    // of the slices' tensor: those within a slice
  Dims collapsed;      // of the operand: those without one in a slice
  Dims index_map;      // of the operand: one for each component of an index vector
  Dims operand_batch;  // of the operand, which run together with
  Dims indices_batch;  // those of the indices
  int64_t vector_dim = 0;

  // Errors: INVALID_ARGUMENT for numbers that name no dimension, or one twice.
  absl::Status Check(int operand_rank, int indices_rank, int slices_rank) const {
    const bool are_valid =
        AreDistinct({&collapsed, &operand_batch}, operand_rank) &&
        AreDistinct({&index_map, &operand_batch}, operand_rank) &&
        AreDistinct({&indices_batch}, indices_rank) && AreDistinct({&window_dims}, slices_rank) &&
        std::is_sorted(window_dims.begin(), window_dims.end()) && vector_dim >= 0 &&
        vector_dim <= indices_rank && !Contains(indices_batch, vector_dim) &&
        operand_batch.size() == indices_batch.size() &&
        window_dims.size() + collapsed.size() + operand_batch.size() ==
            static_cast<size_t>(operand_rank);
    if (are_valid) return absl::OkStatus();
    return absl::InvalidArgumentError("dimension_numbers do not fit the shapes of the inputs");
  }

  static bool AreDistinct(std::initializer_list<const Dims*> lists, int rank) {
    std::vector<bool> seen(rank, false);
    for (const Dims* list : lists) {
      for (int64_t d : *list) {
        if (d < 0 || d >= rank || seen[d]) return false;
        seen[d] = true;
      }
    }
    return true;
  }

  // The dimensions of the operand that a slice has.
  Dims KeptDims(int operand_rank) const {
    Dims kept;
    for (int64_t d = 0; d < operand_rank; ++d) {
      if (!Contains(collapsed, d) && !Contains(operand_batch, d)) kept.push_back(d);
    }
    return kept;
  }

  // The shape of the indices without their vectors.
  Dims BatchDims(const Shape& indices) const {
    Dims dims(indices.dims().begin(), indices.dims().end());
    if (vector_dim < indices.rank()) dims.erase(dims.begin() + vector_dim);
    return dims;
  }
};

Dims Copy(const google::protobuf::RepeatedField<int64_t>& field) {
  return Dims(field.begin(), field.end());
}

Dims RowMajor(absl::Span<const int64_t> dims) {
  Dims strides(dims.size(), 1);
  // Nobody reads elements of an empty tensor, whose other sizes may be beyond any product.
  if (absl::c_linear_search(dims, 0)) return strides;
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

int64_t Product(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

int64_t Offset(const Dims& index, const Dims& strides) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
  return offset;
}

// Splits the dimensions of the slices' tensor into those of the batch and those of the slices.
struct SliceLayout {
  Dims batch_strides, window_strides;

  SliceLayout(absl::Span<const int64_t> slices, const Dims& window_dims) {
    const Dims strides = RowMajor(slices);
    for (size_t d = 0; d < strides.size(); ++d) {
      (Contains(window_dims, d) ? window_strides : batch_strides).push_back(strides[d]);
    }
  }
};

// Slices that start beyond the operand, or reach over its edge.
enum class OutsideSlices : uint8_t { kMovedInside, kLeftOut };

// Finds where in the operand and in the tensor of slices each slice begins. The batch of slices is
// a matrix: a row has those that differ in the last dimension of the batch alone, after dimensions
// through which one can step as through a single one have become one.
class SliceStarts {
 public:
  // `sizes` are those of a slice in each dimension of the operand.
  SliceStarts(const SliceMap& map, const Tensor& indices, const Shape& operand, const Dims& sizes,
              const SliceLayout& layout, OutsideSlices outside)
      : indices_(indices), batch_dims_(map.BatchDims(indices.shape())), outside_(outside) {
    const Dims strides = RowMajor(operand.dims());
    Dims index_strides = RowMajor(indices.shape().dims());
    const bool is_scalar = map.vector_dim == indices.rank();
    vector_stride_ = is_scalar ? 0 : index_strides[map.vector_dim];
    if (!is_scalar) index_strides.erase(index_strides.begin() + map.vector_dim);
    for (int64_t d : map.index_map) {
      components_.push_back({.stride = strides[d], .last = operand.dim(d) - sizes[d]});
    }
    steps_.resize(batch_dims_.size());
    for (size_t i = 0; i < steps_.size(); ++i) {
      steps_[i] = {.index = index_strides[i], .slice = layout.batch_strides[i]};
    }
    for (size_t i = 0; i < map.operand_batch.size(); ++i) {
      // The batch has no dimension for the vectors.
      const int64_t d = map.indices_batch[i];
      steps_[d < map.vector_dim ? d : d - 1].operand = strides[map.operand_batch[i]];
    }
    Coalesce();
  }

  // Errors: INVALID_ARGUMENT if the indices have vectors or batches of other sizes than the operand
  // needs.
  static absl::Status Check(const SliceMap& map, const Tensor& indices, const Shape& operand) {
    const int64_t length =
        map.vector_dim == indices.rank() ? 1 : indices.dim(static_cast<int>(map.vector_dim));
    if (length != static_cast<int64_t>(map.index_map.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("index vectors have ", length, " components, not ", map.index_map.size()));
    }
    for (size_t i = 0; i < map.operand_batch.size(); ++i) {
      if (operand.dim(map.operand_batch[i]) != indices.dim(map.indices_batch[i])) {
        return absl::InvalidArgumentError("batching dimensions differ in extent");
      }
    }
    return absl::OkStatus();
  }

  int64_t num_slices() const { return Product(batch_dims_); }

  // Calls visit(first, slice) with the first element in the operand and in the tensor of slices for
  // each of the slices [begin, end), which are counted row by row.
  template <typename Visitor>
  void Visit(int64_t begin, int64_t end, Visitor visit) const {
    const int64_t length = batch_dims_.back();
    while (begin < end) {
      const int64_t row = begin / length, first = begin % length;
      const int64_t last = std::min(first + end - begin, length);
      indices_.dtype() == DType::kInt32 ? VisitRow<int32_t>(row, first, last, visit)
                                        : VisitRow<int64_t>(row, first, last, visit);
      begin += last - first;
    }
  }

 private:
  struct Component {
    int64_t stride, last;  // in the operand; the last start that is inside
  };
  // How far the next slice along a dimension of the batch lies behind the one before.
  struct Distances {
    int64_t index = 0, operand = 0, slice = 0;

    Distances Times(int64_t n) const { return {index * n, operand * n, slice * n}; }
    friend bool operator==(const Distances&, const Distances&) = default;
  };

  // Joins dimensions of the batch. One slice alone is a row too.
  void Coalesce() {
    Dims dims;
    std::vector<Distances> steps;
    for (size_t d = 0; d < batch_dims_.size(); ++d) {
      if (batch_dims_[d] == 1) continue;
      if (!dims.empty() && steps.back() == steps_[d].Times(batch_dims_[d])) {
        dims.back() *= batch_dims_[d];
        steps.back() = steps_[d];
      } else {
        dims.push_back(batch_dims_[d]);
        steps.push_back(steps_[d]);
      }
    }
    if (dims.empty()) {
      dims = {1};
      steps.resize(1);
    }
    batch_dims_ = std::move(dims);
    steps_ = std::move(steps);
  }

  template <typename Index, typename Visitor>
  void VisitRow(int64_t row, int64_t begin, int64_t end, Visitor& visit) const {
    Distances at;
    for (size_t d = batch_dims_.size() - 1; d-- > 0;) {
      const int64_t i = row % batch_dims_[d];
      row /= batch_dims_[d];
      at.index += i * steps_[d].index;
      at.operand += i * steps_[d].operand;
      at.slice += i * steps_[d].slice;
    }
    const Index* const indices = indices_.flat<Index>().data() + at.index;
    const Distances& step = steps_.back();
    const bool leaves_out = outside_ == OutsideSlices::kLeftOut;
    if (components_.size() == 1) {  // the loop of most gathers, without an inner one
      const Component component = components_[0];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t given = static_cast<int64_t>(indices[i * step.index]);
        const int64_t start = std::clamp<int64_t>(given, 0, component.last);
        if (start != given && leaves_out) continue;
        visit(at.operand + i * step.operand + start * component.stride, at.slice + i * step.slice);
      }
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      int64_t first = at.operand + i * step.operand;
      const Index* vector = indices + i * step.index;
      bool is_inside = true;
      for (const Component& component : components_) {
        const int64_t given = static_cast<int64_t>(*vector);
        const int64_t start = std::clamp<int64_t>(given, 0, component.last);
        is_inside &= start == given;
        first += start * component.stride;
        vector += vector_stride_;
      }
      if (is_inside || !leaves_out) visit(first, at.slice + i * step.slice);
    }
  }

  const Tensor& indices_;
  Dims batch_dims_;
  const OutsideSlices outside_;
  int64_t vector_stride_ = 0;
  std::vector<Component> components_;
  std::vector<Distances> steps_;  // one for each dimension of the batch
};

// The contiguous runs of elements that a slice consists of.
struct Runs {
  struct Run {
    int64_t operand, slice;  // offsets from the first element
  };
  std::vector<Run> runs;
  int64_t length = 1;

  Runs(const Dims& window, const Dims& operand_strides, const Dims& slice_strides) {
    size_t rank = window.size();
    while (rank > 0 && (window[rank - 1] == 1 || (operand_strides[rank - 1] == length &&
                                                  slice_strides[rank - 1] == length))) {
      length *= window[--rank];
    }
    const Dims outer(window.begin(), window.begin() + static_cast<int64_t>(rank));
    Dims index(rank, 0);
    do {
      runs.push_back({Offset(index, operand_strides), Offset(index, slice_strides)});
    } while (Step(outer, &index));
  }
};

template <typename Numbers>
bool Parse(const KernelBuild& build, Numbers* numbers) {
  if (numbers->ParseFromString(build.attr<std::string>("dimension_numbers"))) return true;
  build.Fail(absl::InvalidArgumentError("dimension_numbers cannot be parsed"));
  return false;
}

class GatherKernel final : public OpKernel {
 public:
  explicit GatherKernel(const KernelBuild& build) {
    xla::GatherDimensionNumbers numbers;
    if (!Parse(build, &numbers)) return;
    map_ = {.window_dims = Copy(numbers.offset_dims()),
            .collapsed = Copy(numbers.collapsed_slice_dims()),
            .index_map = Copy(numbers.start_index_map()),
            .operand_batch = Copy(numbers.operand_batching_dims()),
            .indices_batch = Copy(numbers.start_indices_batching_dims()),
            .vector_dim = numbers.index_vector_dim()};
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& operand = ctx.input(0);
    const Tensor& indices = ctx.input(1);
    ASSIGN_OR_RETURN(const Dims sizes, ReadInts(ctx.input(2), operand.rank(), "slice_sizes"));
    const Dims batch_dims = map_.BatchDims(indices.shape());
    const int rank = static_cast<int>(batch_dims.size() + map_.window_dims.size());
    RETURN_IF_ERROR(map_.Check(operand.rank(), indices.rank(), rank));
    for (int d = 0; d < operand.rank(); ++d) {
      const bool is_one = Contains(map_.collapsed, d) || Contains(map_.operand_batch, d);
      if (sizes[d] < 0 || sizes[d] > operand.dim(d) || (is_one && sizes[d] > 1)) {
        return absl::InvalidArgumentError(absl::StrCat("a slice of size ", sizes[d],
                                                       " does not fit dimension ", d, " of shape ",
                                                       operand.shape().ToString()));
      }
    }
    RETURN_IF_ERROR(SliceStarts::Check(map_, indices, operand.shape()));
    const Dims kept = map_.KeptDims(operand.rank());
    Dims window, result(rank);
    for (int64_t d : kept) window.push_back(sizes[d]);
    size_t next_window = 0, next_batch = 0;
    for (int d = 0; d < rank; ++d) {
      result[d] = Contains(map_.window_dims, d) ? window[next_window++] : batch_dims[next_batch++];
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(result));
    ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    // A dimension that the result lacks may be sliced to size 0. XLA gives zeros then.
    if (Contains(sizes, 0)) {
      ZeroElements(output->dtype(), output->mutable_raw(), output->num_elements());
      return absl::OkStatus();
    }
    const SliceLayout layout(result, map_.window_dims);
    const Dims strides = RowMajor(operand.shape().dims());
    Dims kept_strides;
    for (int64_t d : kept) kept_strides.push_back(strides[d]);
    // A slice that would reach over the edge starts earlier.
    const SliceStarts starts(map_, indices, operand.shape(), sizes, layout,
                             OutsideSlices::kMovedInside);
    const Runs runs(window, kept_strides, layout.window_strides);
    const double cost = 2 + 0.3 * static_cast<double>(Product(window));
    VisitStorageType(operand.dtype(), [&]<typename T>() {
      const T* const from = reinterpret_cast<const T*>(operand.raw());
      T* const to = reinterpret_cast<T*>(output->mutable_raw());
      ctx.ParallelFor(starts.num_slices(), cost, [&](int64_t begin, int64_t end) {
        if (Product(window) == 1) {
          starts.Visit(begin, end, [&](int64_t first, int64_t slice) { to[slice] = from[first]; });
          return;
        }
        starts.Visit(begin, end, [&](int64_t first, int64_t slice) {
          for (const Runs::Run& run : runs.runs) {
            std::copy_n(from + first + run.operand, runs.length, to + slice + run.slice);
          }
        });
      });
    });
    return absl::OkStatus();
  }

 private:
  SliceMap map_;
};
REGISTER_KERNEL("XlaGather", kCpu, GatherKernel);

// Updates of one element by a function that is called follow one another in rounds: in a round each
// element has one at most, so that one call of the function makes all of them.
class ScatterKernel final : public OpKernel {
 public:
  explicit ScatterKernel(const KernelBuild& build)
      : combiner_(CombinerOf(build, "update_computation")),
        computation_(build, "update_computation"),
        types_(build.output_types()) {
    xla::ScatterDimensionNumbers numbers;
    if (!Parse(build, &numbers)) return;
    map_ = {.window_dims = Copy(numbers.update_window_dims()),
            .collapsed = Copy(numbers.inserted_window_dims()),
            .index_map = Copy(numbers.scatter_dims_to_operand_dims()),
            .operand_batch = Copy(numbers.input_batching_dims()),
            .indices_batch = Copy(numbers.scatter_indices_batching_dims()),
            .vector_dim = numbers.index_vector_dim()};
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& operand = ctx.input(0);
    const Tensor& indices = ctx.input(1);
    const Tensor& updates = ctx.input(2);
    RETURN_IF_ERROR(map_.Check(operand.rank(), indices.rank(), updates.rank()));
    RETURN_IF_ERROR(SliceStarts::Check(map_, indices, operand.shape()));
    const Dims kept = map_.KeptDims(operand.rank());
    const Dims strides = RowMajor(operand.shape().dims());
    Dims window, kept_strides, update_batch;
    for (int d = 0; d < updates.rank(); ++d) {
      (Contains(map_.window_dims, d) ? window : update_batch).push_back(updates.dim(d));
    }
    bool fits = update_batch == map_.BatchDims(indices.shape());
    Dims sizes(operand.rank(), 1);
    for (size_t i = 0; i < kept.size(); ++i) {
      sizes[kept[i]] = window[i];
      fits = fits && window[i] <= operand.dim(kept[i]);
      kept_strides.push_back(strides[kept[i]]);
    }
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "updates of shape ", updates.shape().ToString(), " fit neither the indices of shape ",
          indices.shape().ToString(), " nor the operand of shape ", operand.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, operand.shape()));
    if (operand.num_elements() == 0) return absl::OkStatus();
    CopyElements(operand.dtype(), operand.raw(), output->mutable_raw(), operand.num_elements());
    if (updates.num_elements() == 0) return absl::OkStatus();
    const SliceLayout layout(updates.shape().dims(), map_.window_dims);
    // An update that reaches over the edge is left out as a whole.
    const SliceStarts starts(map_, indices, operand.shape(), sizes, layout,
                             OutsideSlices::kLeftOut);
    const Runs runs(window, kept_strides, layout.window_strides);
    if (combiner_ == Combiner::kSecond) return Overwrite(starts, runs, updates, output);
    if (CombinesNumbers(combiner_, output->dtype())) {
      return Combine(ctx, starts, runs, updates, output);
    }
    ASSIGN_OR_RETURN(const std::vector<Round> rounds, FindRounds(ctx, operand, starts, runs));
    for (const Round& round : rounds) {
      ASSIGN_OR_RETURN(Tensor old, Pick(ctx, *output, round.targets));
      ASSIGN_OR_RETURN(Tensor update, Pick(ctx, updates, round.sources));
      std::vector<Tensor> results;
      RETURN_IF_ERROR(computation_.Apply(ctx, {old, update}, types_, &results));
      Put(results[0], round.targets, output);
    }
    return absl::OkStatus();
  }

 private:
  struct Round {
    Dims targets, sources;  // elements of the operand, and of the updates
  };

  // Calls visit(target, source) with the first elements of each run of the updates.
  template <typename Visitor>
  static void ForEachRun(const SliceStarts& starts, const Runs& runs, Visitor visit) {
    starts.Visit(0, starts.num_slices(), [&](int64_t first, int64_t slice) {
      for (const Runs::Run& run : runs.runs) visit(first + run.operand, slice + run.slice);
    });
  }

  static absl::Status Overwrite(const SliceStarts& starts, const Runs& runs, const Tensor& updates,
                                Tensor* output) {
    const int64_t size = static_cast<int64_t>(DTypeSize(updates.dtype()));
    ForEachRun(starts, runs, [&](int64_t target, int64_t source) {
      CopyElements(updates.dtype(), updates.raw() + source * size,
                   output->mutable_raw() + target * size, runs.length);
    });
    return absl::OkStatus();
  }

  absl::Status Combine(KernelContext& ctx, const SliceStarts& starts, const Runs& runs,
                       const Tensor& updates, Tensor* output) const {
    RETURN_IF_ERROR(ctx.CheckGoingOn());
    return VisitCombiner(combiner_, output->dtype(), [&]<typename T>(auto combine) {
      T* const to = output->data<T>();
      const T* const from = updates.flat<T>().data();
      ForEachRun(starts, runs, [&](int64_t target, int64_t source) {
        for (int64_t i = 0; i < runs.length; ++i) {
          to[target + i] = combine(to[target + i], from[source + i]);
        }
      });
      return absl::OkStatus();
    });
  }

  static absl::StatusOr<std::vector<Round>> FindRounds(KernelContext& ctx, const Tensor& operand,
                                                       const SliceStarts& starts,
                                                       const Runs& runs) {
    std::vector<Round> rounds;
    ASSIGN_OR_RETURN(Tensor counts, ctx.AllocateTemp(DType::kInt32, operand.shape()));
    int32_t* const times = counts.data<int32_t>();
    std::fill_n(times, operand.num_elements(), 0);
    ForEachRun(starts, runs, [&](int64_t target, int64_t source) {
      for (int64_t i = 0; i < runs.length; ++i) {
        const size_t round = times[target + i]++;
        if (round == rounds.size()) rounds.emplace_back();
        rounds[round].targets.push_back(target + i);
        rounds[round].sources.push_back(source + i);
      }
    });
    return rounds;
  }

  const Combiner combiner_;
  const ElementFunction computation_;
  const std::vector<DType> types_;
  SliceMap map_;
};
REGISTER_KERNEL("XlaScatter", kCpu, ScatterKernel);
REGISTER_KERNEL("_CapturingXlaScatter", kCpu, ScatterKernel);

}  // namespace
}  // namespace tessera
