#include "runtime/kernels/primitives/cpu/convolution_layout.h"

namespace tessera {

dnnl::memory::desc DataLayout(const ConvolutionShape& shape, int64_t channels,
                              const SpatialDims& spatial) {
  dnnl::memory::dims dims{shape.batch, channels};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  dnnl::memory::dims strides(dims.size());
  int64_t stride = shape.channels_first ? 1 : channels;
  for (size_t i = dims.size() - 1; i >= 2; --i) {
    strides[i] = stride;
    stride *= dims[i];
  }
  strides[1] = shape.channels_first ? stride : 1;
  strides[0] = shape.channels_first ? stride * channels : stride;
  return dnnl::memory::desc(dims, dnnl::memory::data_type::f32, strides);
}

dnnl::memory::desc FilterLayout(const ConvolutionShape& shape) {
  const int64_t in = shape.in_channels / shape.groups, out = shape.out_channels / shape.groups;
  dnnl::memory::dims dims{shape.groups, out, in}, strides{out, 1, shape.out_channels};
  dims.insert(dims.end(), shape.filter.begin(), shape.filter.end());
  strides.resize(dims.size());
  int64_t stride = shape.out_channels * in;
  for (size_t i = dims.size() - 1; i >= 3; --i) {
    strides[i] = stride;
    stride *= dims[i];
  }
  if (shape.groups == 1) {
    dims.erase(dims.begin());
    strides.erase(strides.begin());
  }
  return dnnl::memory::desc(dims, dnnl::memory::data_type::f32, strides);
}

dnnl::memory::dims Dims(const SpatialDims& spatial, int64_t offset) {
  dnnl::memory::dims result;
  for (int64_t size : spatial) result.push_back(size + offset);
  return result;
}

onednn::Key ConvolutionKey(const ConvolutionShape& s) {
  onednn::Key key;
  key.Add(s.batch).Add(s.in_channels).Add(s.out_channels).Add(s.groups);
  key.AddAll(s.input).AddAll(s.filter).AddAll(s.strides).AddAll(s.dilations);
  key.AddAll(s.pad_before).AddAll(s.pad_after).Add(s.channels_first);
  return key;
}

DataStrides StridesOf(const ConvolutionShape& shape, int64_t channels, const SpatialDims& spatial) {
  DataStrides result;
  result.spatial.resize(spatial.size());
  int64_t stride = shape.channels_first ? 1 : channels;
  for (int i = static_cast<int>(spatial.size()) - 1; i >= 0; --i) {
    result.spatial[i] = stride;
    stride *= spatial[i];
  }
  result.channel = shape.channels_first ? stride : 1;
  result.batch = shape.channels_first ? stride * channels : stride;
  return result;
}

}  // namespace tessera
