// Reading slices by index: Gather, OneHot, RavelMultiIndex and EmbeddingSum.
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"
#include "runtime/kernels/primitives/embedding_sum.h"
#include "runtime/kernels/primitives/gather.h"
#include "runtime/kernels/primitives/one_hot.h"
#include "runtime/kernels/primitives/ravel_multi_index.h"

namespace tessera::cuda {
namespace {

template <typename T>
__global__ void GatherSlices(int64_t count, Gather::Geometry g, const T* params, Indices indices,
                             T* output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const Quotient slice = DivideIndex(i, g.slice);
    const Quotient pick = DivideIndex(slice.quotient, g.picks);
    const int64_t batch = DivideIndex(pick.quotient, g.outer).quotient;
    const int64_t index = indices[batch * g.picks + pick.remainder];
    const bool valid = index >= 0 && index < g.size;
    output[i] = valid ? params[(pick.quotient * g.size + index) * g.slice + slice.remainder] : T{};
  }
}

// Takes several elements of a slice for one of up to 16 bytes where all addresses allow it.
int64_t WidenSlice(int64_t size, std::initializer_list<const void*> addresses, int64_t* slice) {
  uintptr_t misaligned = 0;
  for (const void* address : addresses) misaligned |= reinterpret_cast<uintptr_t>(address);
  while (size < 16 && *slice % 2 == 0 && misaligned % (2 * size) == 0) {
    size *= 2;
    *slice /= 2;
  }
  return size;
}

// Indices out of range are never errors here, since nobody on the host knows them: see
// BadIndices::kError.
absl::Status RunGather(KernelContext& ctx, const Gather::Geometry& geometry, const Tensor& params,
                       const Tensor& indices, BadIndices /*bad_indices*/, Tensor* output) {
  Gather::Geometry g = geometry;
  if (output->num_elements() == 0) return absl::OkStatus();
  const int64_t size =
      WidenSlice(ElementSize(params), {params.address(), output->address()}, &g.slice);
  const int64_t count = g.batch * g.outer * g.picks * g.slice;
  return VisitBySize(size, [&]<typename T>() {
    return LaunchItems(ctx, count, GatherSlices<T>, count, g, DataOf<const T>(params),
                       Indices(indices), DataOf<T>(*output));
  });
}
REGISTER_CUDA_PRIMITIVE(Gather, RunGather);

template <typename T>
__global__ void MarkIndices(int64_t count, int64_t depth, int64_t inner, Indices indices,
                            const T* on, const T* off, T* output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const Quotient place = DivideIndex(i, inner);
    const Quotient mark = DivideIndex(place.quotient, depth);
    const int64_t index = indices[mark.quotient * inner + place.remainder];
    output[i] = index == mark.remainder ? *on : *off;
  }
}

absl::Status RunOneHot(KernelContext& ctx, int64_t depth, int64_t inner, const Tensor& indices,
                       const Tensor& on, const Tensor& off, Tensor* output) {
  const int64_t count = output->num_elements();
  return VisitBySize(ElementSize(on), [&]<typename T>() {
    return LaunchItems(ctx, count, MarkIndices<T>, count, depth, inner, Indices(indices),
                       DataOf<const T>(on), DataOf<const T>(off), DataOf<T>(*output));
  });
}
REGISTER_CUDA_PRIMITIVE(OneHot, RunOneHot);

struct LeadingDims {
  int count;
  int64_t dims[kMaxBoxRank];
};

__global__ void RavelIndices(int64_t count, LeadingDims shape, Indices indices,
                             int64_t* positions) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    int64_t position = 0;
    bool valid = true;
    for (int d = 0; d < shape.count; ++d) {
      const int64_t index = indices[i * shape.count + d];
      valid = valid && index >= 0 && index < shape.dims[d];
      position = position * shape.dims[d] + index;
    }
    positions[i] = valid ? position : -1;
  }
}

absl::Status RunRavelMultiIndex(KernelContext& ctx, const Shape& shape, const Tensor& indices,
                                BadIndices /*bad_indices*/, Tensor* positions) {
  LeadingDims leading{static_cast<int>(indices.dim(indices.rank() - 1)), {}};
  if (leading.count > kMaxBoxRank) {
    return absl::UnimplementedError(absl::StrCat("coordinates in ", leading.count,
                                                 " dimensions; at most ", kMaxBoxRank,
                                                 " are supported on a GPU"));
  }
  for (int d = 0; d < leading.count; ++d) leading.dims[d] = shape.dim(d);
  const int64_t count = positions->num_elements();
  return LaunchItems(ctx, count, RavelIndices, count, leading, Indices(indices),
                     DataOf<int64_t>(*positions));
}
REGISTER_CUDA_PRIMITIVE(RavelMultiIndex, RunRavelMultiIndex);

// The summands that one launch adds. More take several.
constexpr int kMaxSummands = 4;
struct Summands {
  int count;
  bool adds_to_output;
  struct {
    const float* values;
    int64_t value_rows;
    const void* indices;  // null: none
    DType index_type;
    int64_t width;
    float scale;
    int64_t strides[kMaxBoxRank];
  } summand[kMaxSummands];
};

__global__ void SumEmbeddings(int64_t count, LeadingDims rows, int64_t columns, Summands summands,
                              float* output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const Quotient place = DivideIndex(i, columns);
    float sum = summands.adds_to_output ? output[i] : 0;
    for (int s = 0; s < summands.count; ++s) {
      const auto& summand = summands.summand[s];
      int64_t rest = place.quotient, row = 0;
      for (int d = rows.count - 1; d >= 0; --d) {
        const Quotient index = DivideIndex(rest, rows.dims[d]);
        row += index.remainder * summand.strides[d];
        rest = index.quotient;
      }
      if (summand.indices != nullptr) {
        row = LoadElement<int64_t>(summand.indices, summand.index_type, row);
      }
      float value = 0;  // of a row that the table does not have
      if (row >= 0 && row < summand.value_rows) {
        value = summand.values[row * summand.width + (summand.width == 1 ? 0 : place.remainder)];
      }
      const float scaled = value * summand.scale;
      sum = s == 0 && !summands.adds_to_output ? scaled : sum + scaled;
    }
    output[i] = sum;
  }
}

absl::Status RunEmbeddingSum(KernelContext& ctx, absl::Span<const int64_t> dims, int64_t columns,
                             absl::Span<const EmbeddingSum::Summand> summands, Tensor* output) {
  const int64_t count = output->num_elements();
  if (dims.size() > kMaxBoxRank) {
    return absl::UnimplementedError(
        absl::StrCat("a sum of embeddings of ", dims.size(), " dimensions"));
  }
  LeadingDims rows{static_cast<int>(dims.size()), {}};
  std::copy(dims.begin(), dims.end(), rows.dims);
  for (size_t first = 0; first < summands.size(); first += kMaxSummands) {
    Summands part{};
    part.count = static_cast<int>(std::min<size_t>(kMaxSummands, summands.size() - first));
    part.adds_to_output = first > 0;
    for (int s = 0; s < part.count; ++s) {
      const EmbeddingSum::Summand& from = summands[first + s];
      auto& to = part.summand[s];
      to.values = DataOf<const float>(*from.values);
      to.value_rows = from.width == 0 ? 0 : from.values->num_elements() / from.width;
      to.indices = from.indices == nullptr ? nullptr : from.indices->address();
      to.index_type = from.indices == nullptr ? DType::kInt64 : from.indices->dtype();
      to.width = from.width;
      to.scale = from.scale;
      std::copy(from.strides.begin(), from.strides.end(), to.strides);
    }
    RETURN_IF_ERROR(
        LaunchItems(ctx, count, SumEmbeddings, count, rows, columns, part, DataOf<float>(*output)));
  }
  return absl::OkStatus();
}
REGISTER_CUDA_PRIMITIVE(EmbeddingSum, RunEmbeddingSum);

}  // namespace
}  // namespace tessera::cuda
