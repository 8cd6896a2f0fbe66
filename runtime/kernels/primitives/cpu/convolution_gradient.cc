#include "runtime/kernels/primitives/convolution_gradient.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/convolution_chunks.h"
#include "runtime/kernels/primitives/cpu/convolution_layout.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/stepwise_convolution.h"
#include "runtime/kernels/primitives/cpu/stepwise_depthwise.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

using dnnl::memory;

double NanosecondsOf(const ConvolutionShape& shape) {
  return FlopsOf(shape) / SpeedsForCpu().fma_flops;
}

// A gradient as oneDNN computes it: two sources and one destination, each in the layout that oneDNN
// prefers (`inner`) and in the caller's (`outer`).
struct GradientPrimitive {
  dnnl::primitive primitive;
  memory::desc scratch;
  struct Argument {
    int id = 0;
    memory::desc outer, inner;
    dnnl::reorder reorder;  // from one layout to the other; empty if both are the same
  } sources[2], destination;
};

dnnl::reorder MakeReorder(const memory::desc& from, const memory::desc& to) {
  if (from == to) return dnnl::reorder();
  return dnnl::reorder(dnnl::reorder::primitive_desc(onednn::Engine(), from, onednn::Engine(), to));
}

enum class Gradient { kInput, kFilter };

std::shared_ptr<const GradientPrimitive> MakePrimitive(const ConvolutionShape& shape,
                                                       Gradient gradient) {
  const memory::desc data = DataLayout(shape, shape.in_channels, shape.input);
  const memory::desc filter = FilterLayout(shape);
  const memory::desc result = DataLayout(shape, shape.out_channels, shape.output);
  const auto any = [](const memory::desc& d) {
    return memory::desc(d.dims(), memory::data_type::f32, memory::format_tag::any);
  };
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::dims strides = Dims(shape.strides), dilations = Dims(shape.dilations, -1);
  const memory::dims before = Dims(shape.pad_before), after = Dims(shape.pad_after);
  const auto forward = [&](const memory::desc& from, const memory::desc& to) {
    return dnnl::convolution_forward::primitive_desc(
        {dnnl::prop_kind::forward_training, algorithm, from, any(filter), to, strides, dilations,
         before, after},
        onednn::Engine());
  };
  auto made = std::make_shared<GradientPrimitive>();
  if (gradient == Gradient::kInput) {
    using Description = dnnl::convolution_backward_data::primitive_desc;
    const auto describe = [&](const memory::desc& from, const memory::desc& to) {
      return Description({algorithm, from, any(filter), to, strides, dilations, before, after},
                         attr, onednn::Engine(), forward(from, to));
    };
    // Code that oneDNN generates is as fast on the caller's layouts, which need no copies. Other
    // implementations are slower on them.
    Description desc = describe(data, result);
    if (!absl::StartsWith(desc.impl_info_str(), "jit")) desc = describe(any(data), any(result));
    made->primitive = dnnl::convolution_backward_data(desc);
    made->scratch = desc.scratchpad_desc();
    made->sources[0] = {DNNL_ARG_DIFF_DST, result, desc.diff_dst_desc()};
    made->sources[1] = {DNNL_ARG_WEIGHTS, filter, desc.weights_desc()};
    made->destination = {DNNL_ARG_DIFF_SRC, data, desc.diff_src_desc()};
  } else {
    const dnnl::convolution_backward_weights::primitive_desc desc(
        {algorithm, any(data), any(filter), any(result), strides, dilations, before, after}, attr,
        onednn::Engine(), forward(any(data), any(result)));
    made->primitive = dnnl::convolution_backward_weights(desc);
    made->scratch = desc.scratchpad_desc();
    made->sources[0] = {DNNL_ARG_DIFF_DST, result, desc.diff_dst_desc()};
    made->sources[1] = {DNNL_ARG_SRC, data, desc.src_desc()};
    made->destination = {DNNL_ARG_DIFF_WEIGHTS, filter, desc.diff_weights_desc()};
  }
  for (auto& source : made->sources) source.reorder = MakeReorder(source.outer, source.inner);
  auto& destination = made->destination;
  destination.reorder = MakeReorder(destination.inner, destination.outer);
  return made;
}

absl::StatusOr<std::shared_ptr<const GradientPrimitive>> PrimitiveFor(const ConvolutionShape& shape,
                                                                      Gradient gradient) {
  static auto* const primitives = new onednn::PrimitiveCache<GradientPrimitive>(512);
  const onednn::OneThread one_thread;
  return primitives->Get(ConvolutionKey(shape).Add(gradient),
                         [&] { return MakePrimitive(shape, gradient); });
}

absl::Status FailedGradient(const dnnl::error& error) {
  return absl::InternalError(
      absl::StrCat("oneDNN failed in a convolution's gradient: ", error.what()));
}

// A filter in the layout that oneDNN prefers. It has no value if the caller's layout is preferred.
struct InnerFilter {
  memory::desc layout;
  Tensor storage;
};

// Reorders the filter as the primitive for `shape` wants it. Chunks with the same layout share the
// result.
absl::StatusOr<InnerFilter> ReorderFilter(KernelContext& ctx, const ConvolutionShape& shape,
                                          const float* filter) {
  ASSIGN_OR_RETURN(const auto primitive, PrimitiveFor(shape, Gradient::kInput));
  const GradientPrimitive::Argument& argument = primitive->sources[1];
  InnerFilter result{.layout = argument.inner};
  if (!argument.reorder) return result;
  const auto size = static_cast<int64_t>(argument.inner.get_size());
  ASSIGN_OR_RETURN(result.storage, ctx.AllocateTemp(DType::kUint8, {size}));
  const onednn::OneThread one_thread;
  try {
    onednn::Arguments arguments;
    arguments.Add(DNNL_ARG_FROM, argument.outer, filter);
    arguments.Add(DNNL_ARG_TO, argument.inner, result.storage.raw());
    arguments.Execute(argument.reorder);
  } catch (const dnnl::error& e) {
    return FailedGradient(e);
  }
  return result;
}

// Computes the chunk `shape` on the calling thread alone. `first`, `second` and `output` point to
// its first elements. `inner_filter` may be null; otherwise it holds the filter at `second`,
// reordered.
absl::Status RunChunk(KernelContext& ctx, const ConvolutionShape& shape, Gradient gradient,
                      const float* first, const float* second, const InnerFilter* inner_filter,
                      float* output) {
  ASSIGN_OR_RETURN(const auto primitive, PrimitiveFor(shape, gradient));
  const onednn::OneThread one_thread;
  try {
    std::vector<Tensor> temporaries;
    auto allocate = [&](const memory::desc& desc) -> absl::StatusOr<void*> {
      ASSIGN_OR_RETURN(Tensor tensor,
                       ctx.AllocateTemp(DType::kUint8, {static_cast<int64_t>(desc.get_size())}));
      temporaries.push_back(std::move(tensor));
      return temporaries.back().mutable_raw();
    };
    const auto reorder = [](const dnnl::primitive& primitive, const memory::desc& from,
                            const void* source, const memory::desc& to, void* target) {
      onednn::Arguments arguments;
      arguments.Add(DNNL_ARG_FROM, from, source);
      arguments.Add(DNNL_ARG_TO, to, target);
      arguments.Execute(primitive);
    };
    onednn::Arguments arguments;
    ASSIGN_OR_RETURN(void* const scratch, allocate(primitive->scratch));
    arguments.Add(DNNL_ARG_SCRATCHPAD, primitive->scratch, scratch);
    const float* sources[] = {first, second};
    for (int i = 0; i < 2; ++i) {
      const auto& argument = primitive->sources[i];
      const void* given = sources[i];
      if (i == 1 && inner_filter != nullptr && inner_filter->storage.has_value() &&
          inner_filter->layout == argument.inner) {
        given = inner_filter->storage.raw();
      } else if (argument.reorder) {
        ASSIGN_OR_RETURN(void* const inner, allocate(argument.inner));
        reorder(argument.reorder, argument.outer, given, argument.inner, inner);
        given = inner;
      }
      arguments.Add(argument.id, argument.inner, given);
    }
    const auto& destination = primitive->destination;
    void* inner = output;
    if (destination.reorder) {
      ASSIGN_OR_RETURN(inner, allocate(destination.inner));
    }
    arguments.Add(destination.id, destination.inner, inner);
    arguments.Execute(primitive->primitive);
    if (destination.reorder) {
      reorder(destination.reorder, destination.inner, inner, destination.outer, output);
    }
  } catch (const dnnl::error& e) {
    return FailedGradient(e);
  }
  return absl::OkStatus();
}

int64_t NumChunks(const KernelContext& ctx, const ConvolutionShape& shape) {
  return NumChunks(ctx, std::numeric_limits<int64_t>::max(), NanosecondsOf(shape));
}

absl::Status BackwardInputFloat(KernelContext& ctx, const ConvolutionShape& shape,
                                const float* gradient, const float* filter, float* output) {
  const std::vector<ConvolutionChunk> chunks =
      SplitConvolutionByInput(shape, NumChunks(ctx, shape));
  ASSIGN_OR_RETURN(const InnerFilter inner_filter, ReorderFilter(ctx, chunks[0].shape, filter));
  return ForEachChunk(ctx, chunks.size(), NanosecondsOf(shape) / chunks.size(), [&](int64_t i) {
    const ConvolutionChunk& chunk = chunks[i];
    return RunChunk(ctx, chunk.shape, Gradient::kInput, gradient + chunk.output_offset, filter,
                    &inner_filter, output + chunk.input_offset);
  });
}

absl::Status BackwardFilterFloat(KernelContext& ctx, const ConvolutionShape& shape,
                                 const float* input, const float* gradient, Tensor* output) {
  const std::vector<ConvolutionChunk> chunks = SplitConvolution(shape, NumChunks(ctx, shape));
  const int64_t num_chunks = static_cast<int64_t>(chunks.size()), size = output->num_elements();
  // Each chunk has sums of its own. The first chunk writes its sums to the output.
  ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DType::kFloat, {num_chunks - 1, size}));
  float* const to = output->data<float>();
  RETURN_IF_ERROR(ForEachChunk(ctx, num_chunks, NanosecondsOf(shape) / num_chunks, [&](int64_t i) {
    const ConvolutionChunk& chunk = chunks[i];
    return RunChunk(ctx, chunk.shape, Gradient::kFilter, gradient + chunk.output_offset,
                    input + chunk.input_offset, nullptr,
                    i == 0 ? to : sums.data<float>() + (i - 1) * size);
  }));
  ctx.ParallelFor(size, 0.5 * num_chunks, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = 0; chunk + 1 < num_chunks; ++chunk) {
      const float* const from = sums.data<float>() + chunk * size;
      for (int64_t i = begin; i < end; ++i) to[i] += from[i];
    }
  });
  return absl::OkStatus();
}

// The sizes and strides that the plain loops share.
struct Loop {
  explicit Loop(const ConvolutionShape& s)
      : in(StridesOf(s, s.in_channels, s.input)),
        out(StridesOf(s, s.out_channels, s.output)),
        group_in(s.in_channels / s.groups),
        group_out(s.out_channels / s.groups),
        point_stride(s.channels_first ? 1 : s.out_channels) {
    for (int64_t d : s.output) points *= d;
  }
  const DataStrides in, out;
  const int64_t group_in, group_out, point_stride;
  int64_t points = 1;
};

template <typename T>
void BackwardInputPlain(KernelContext& ctx, const ConvolutionShape& shape, const T* gradient,
                        const T* filter, T* output) {
  using Sum = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  const Loop loop(shape);
  ctx.ParallelFor(shape.batch, 1e6, [&](int64_t begin, int64_t end) {
    std::vector<Sum> sums(loop.in.batch);
    for (int64_t image = begin; image < end; ++image) {
      std::fill(sums.begin(), sums.end(), Sum(0));
      for (int64_t point = 0; point < loop.points; ++point) {
        const T* from = gradient + image * loop.out.batch + point * loop.point_stride;
        ForEachKernelPosition(shape, loop.in, point, [&](const KernelPosition& position) {
          const T* weights = filter + position.index * loop.group_in * shape.out_channels;
          for (int64_t c = 0; c < shape.in_channels; ++c) {
            const int64_t first = c / loop.group_in * loop.group_out;
            const T* row = weights + c % loop.group_in * shape.out_channels + first;
            Sum sum(0);
            for (int64_t o = 0; o < loop.group_out; ++o) {
              sum +=
                  static_cast<Sum>(row[o]) * static_cast<Sum>(from[(first + o) * loop.out.channel]);
            }
            sums[position.input_offset + c * loop.in.channel] += sum;
          }
        });
      }
      T* to = output + image * loop.in.batch;
      for (int64_t i = 0; i < loop.in.batch; ++i) to[i] = static_cast<T>(sums[i]);
    }
  });
}

template <typename T>
absl::Status BackwardFilterPlain(KernelContext& ctx, const ConvolutionShape& shape, const T* input,
                                 const T* gradient, Tensor* output) {
  using Sum = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  const Loop loop(shape);
  const int64_t count = output->num_elements();
  ASSIGN_OR_RETURN(Tensor scratch, ctx.AllocateTemp(DTypeOf<Sum>, output->shape()));
  Sum* const sums = scratch.data<Sum>();
  std::fill_n(sums, count, Sum(0));
  for (int64_t image = 0; image < shape.batch; ++image) {
    for (int64_t point = 0; point < loop.points; ++point) {
      const T* grad = gradient + image * loop.out.batch + point * loop.point_stride;
      ForEachKernelPosition(shape, loop.in, point, [&](const KernelPosition& position) {
        const T* from = input + image * loop.in.batch + position.input_offset;
        Sum* weights = sums + position.index * loop.group_in * shape.out_channels;
        for (int64_t c = 0; c < shape.in_channels; ++c) {
          const Sum x = static_cast<Sum>(from[c * loop.in.channel]);
          const int64_t first = c / loop.group_in * loop.group_out;
          Sum* row = weights + c % loop.group_in * shape.out_channels + first;
          for (int64_t o = 0; o < loop.group_out; ++o) {
            row[o] += x * static_cast<Sum>(grad[(first + o) * loop.out.channel]);
          }
        }
      });
    }
  }
  for (int64_t i = 0; i < count; ++i) output->data<T>()[i] = static_cast<T>(sums[i]);
  return absl::OkStatus();
}

void Zero(Tensor* tensor) { std::memset(tensor->mutable_raw(), 0, tensor->size_bytes()); }

absl::Status ConvolveBackwardInput(KernelContext& ctx, const ConvolutionShape& shape,
                                   const Tensor& gradient, const Tensor& filter, Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  if (gradient.num_elements() == 0 || filter.num_elements() == 0) {
    Zero(output);
    return absl::OkStatus();
  }
  if (gradient.dtype() == DType::kFloat) {
    return BackwardInputFloat(ctx, shape, gradient.data<float>(), filter.data<float>(),
                              output->data<float>());
  }
  if (gradient.dtype() == DType::kHalf) {
    if (IsStepwiseDepthwise(shape)) {
      return StepwiseDepthwiseInputGradient(ctx, shape, gradient, filter, output);
    }
    if (HasStepwiseGradients(shape)) {
      return StepwiseInputGradient(ctx, shape, gradient, filter, output);
    }
  }
  return VisitRealType(gradient.dtype(), [&]<typename T>() {
    BackwardInputPlain<T>(ctx, shape, gradient.data<T>(), filter.data<T>(), output->data<T>());
    return absl::OkStatus();
  });
}

absl::Status ConvolveBackwardFilter(KernelContext& ctx, const ConvolutionShape& shape,
                                    const Tensor& input, const Tensor& gradient, Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  if (gradient.num_elements() == 0 || input.num_elements() == 0) {
    Zero(output);
    return absl::OkStatus();
  }
  if (gradient.dtype() == DType::kFloat) {
    return BackwardFilterFloat(ctx, shape, input.data<float>(), gradient.data<float>(), output);
  }
  if (gradient.dtype() == DType::kHalf) {
    if (IsStepwiseDepthwise(shape)) {
      return StepwiseDepthwiseFilterGradient(ctx, shape, input, gradient, output);
    }
    if (HasStepwiseGradients(shape)) {
      return StepwiseFilterGradient(ctx, shape, input, gradient, output);
    }
  }
  return VisitRealType(gradient.dtype(), [&]<typename T>() {
    return BackwardFilterPlain<T>(ctx, shape, input.data<T>(), gradient.data<T>(), output);
  });
}

REGISTER_PRIMITIVE(ConvolutionInputGradient, kCpu, ConvolveBackwardInput);
REGISTER_PRIMITIVE(ConvolutionFilterGradient, kCpu, ConvolveBackwardFilter);

}  // namespace
}  // namespace tessera
