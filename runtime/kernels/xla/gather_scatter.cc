// XlaGather and XlaScatter: slices of an operand, at starts that index vectors give.
#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
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

// Reads index vectors, and turns one into the start of its slice in the operand.
class Starts {
 public:
  Starts(const SliceMap& map, const Tensor& indices, const Shape& operand)
      : map_(map), indices_(indices), operand_(operand) {
    batch_strides_ = RowMajor(indices.shape().dims());
    const bool is_scalar = map.vector_dim == indices.rank();
    vector_length_ = is_scalar ? 1 : indices.dim(static_cast<int>(map.vector_dim));
    vector_stride_ = is_scalar ? 0 : batch_strides_[map.vector_dim];
    if (!is_scalar) batch_strides_.erase(batch_strides_.begin() + map.vector_dim);
  }

  absl::Status Check() const {
    if (vector_length_ == static_cast<int64_t>(map_.index_map.size())) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("index vectors have ", vector_length_,
                                                   " components, not ", map_.index_map.size()));
  }

  // Sets *start for the index vector at position `batch` of the indices.
  void Read(const Dims& batch, Dims* start) const {
    int64_t position = 0;
    for (size_t i = 0; i < batch.size(); ++i) position += batch[i] * batch_strides_[i];
    start->assign(operand_.rank(), 0);
    for (size_t i = 0; i < map_.index_map.size(); ++i) {
      (*start)[map_.index_map[i]] = IndexAt(position + static_cast<int64_t>(i) * vector_stride_);
    }
    for (size_t i = 0; i < map_.operand_batch.size(); ++i) {
      // The batch has no dimension for the vectors.
      const int64_t d = map_.indices_batch[i];
      (*start)[map_.operand_batch[i]] = batch[d < map_.vector_dim ? d : d - 1];
    }
  }

 private:
  int64_t IndexAt(int64_t position) const {
    return indices_.dtype() == DType::kInt32 ? indices_.flat<int32_t>()[position]
                                             : indices_.flat<int64_t>()[position];
  }

  const SliceMap& map_;
  const Tensor& indices_;
  const Shape& operand_;
  Dims batch_strides_;
  int64_t vector_length_ = 0;
  int64_t vector_stride_ = 0;
};

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

int64_t Offset(const Dims& index, const Dims& strides) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
  return offset;
}

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
    for (size_t i = 0; i < map_.operand_batch.size(); ++i) {
      if (operand.dim(map_.operand_batch[i]) != indices.dim(map_.indices_batch[i])) {
        return absl::InvalidArgumentError("batching dimensions differ in extent");
      }
    }
    const Starts starts(map_, indices, operand.shape());
    RETURN_IF_ERROR(starts.Check());
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
    const size_t size = DTypeSize(operand.dtype());
    Dims batch(batch_dims.size(), 0), start;
    do {
      starts.Read(batch, &start);
      // A slice that would reach over the edge starts earlier.
      for (int d = 0; d < operand.rank(); ++d) {
        start[d] = std::clamp<int64_t>(start[d], 0, operand.dim(d) - sizes[d]);
      }
      const char* const in = operand.raw() + Offset(start, strides) * size;
      char* const out = output->mutable_raw() + Offset(batch, layout.batch_strides) * size;
      Dims index(window.size(), 0);
      do {
        CopyElements(operand.dtype(), in + Offset(index, kept_strides) * size,
                     out + Offset(index, layout.window_strides) * size, 1);
      } while (Step(window, &index));
    } while (Step(batch_dims, &batch));
    return absl::OkStatus();
  }

 private:
  SliceMap map_;
};
REGISTER_KERNEL("XlaGather", kCpu, GatherKernel);

// Updates of one element follow one another in rounds: in a round each element has one at most, so
// that one call of the function makes all of them.
class ScatterKernel final : public OpKernel {
 public:
  explicit ScatterKernel(const KernelBuild& build)
      : computation_(build, "update_computation"), types_(build.output_types()) {
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
    ASSIGN_OR_RETURN(const std::vector<Round> rounds,
                     FindRounds(ctx, operand.shape(), ctx.input(1), ctx.input(2)));
    ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, operand.shape()));
    if (operand.num_elements() == 0) return absl::OkStatus();
    CopyElements(operand.dtype(), operand.raw(), output->mutable_raw(), operand.num_elements());
    for (const Round& round : rounds) {
      ASSIGN_OR_RETURN(Tensor old, Pick(ctx, *output, round.targets));
      ASSIGN_OR_RETURN(Tensor update, Pick(ctx, ctx.input(2), round.sources));
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

  absl::StatusOr<std::vector<Round>> FindRounds(KernelContext& ctx, const Shape& operand,
                                                const Tensor& indices,
                                                const Tensor& updates) const {
    RETURN_IF_ERROR(map_.Check(operand.rank(), indices.rank(), updates.rank()));
    const Dims batch_dims = map_.BatchDims(indices.shape());
    const Starts starts(map_, indices, operand);
    RETURN_IF_ERROR(starts.Check());
    const Dims kept = map_.KeptDims(operand.rank());
    const Dims strides = RowMajor(operand.dims());
    Dims window, kept_strides, update_batch;
    for (int d = 0; d < updates.rank(); ++d) {
      (Contains(map_.window_dims, d) ? window : update_batch).push_back(updates.dim(d));
    }
    bool fits = update_batch == batch_dims;
    Dims sizes(operand.rank(), 1);
    for (size_t i = 0; i < kept.size(); ++i) {
      sizes[kept[i]] = window[i];
      fits = fits && window[i] <= operand.dim(kept[i]);
      kept_strides.push_back(strides[kept[i]]);
    }
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "updates of shape ", updates.shape().ToString(), " fit neither the indices of shape ",
          indices.shape().ToString(), " nor the operand of shape ", operand.ToString()));
    }
    std::vector<Round> rounds;
    if (updates.num_elements() == 0 || operand.num_elements() == 0) return rounds;
    const SliceLayout layout(updates.shape().dims(), map_.window_dims);
    ASSIGN_OR_RETURN(Tensor counts, ctx.AllocateTemp(DType::kInt32, operand));
    int32_t* const times = counts.data<int32_t>();
    std::fill_n(times, operand.num_elements(), 0);
    Dims batch(batch_dims.size(), 0), start;
    do {
      starts.Read(batch, &start);
      // An update that reaches over the edge is left out as a whole.
      bool is_inside = true;
      for (int d = 0; d < operand.rank(); ++d) {
        is_inside = is_inside && start[d] >= 0 && start[d] <= operand.dim(d) - sizes[d];
      }
      if (!is_inside) continue;
      const int64_t first = Offset(start, strides);
      const int64_t first_update = Offset(batch, layout.batch_strides);
      Dims index(window.size(), 0);
      do {
        const int64_t target = first + Offset(index, kept_strides);
        const size_t round = times[target]++;
        if (round == rounds.size()) rounds.emplace_back();
        rounds[round].targets.push_back(target);
        rounds[round].sources.push_back(first_update + Offset(index, layout.window_strides));
      } while (Step(window, &index));
    } while (Step(batch_dims, &batch));
    return rounds;
  }

  const ElementFunction computation_;
  const std::vector<DType> types_;
  SliceMap map_;
};
REGISTER_KERNEL("XlaScatter", kCpu, ScatterKernel);

}  // namespace
}  // namespace tessera
