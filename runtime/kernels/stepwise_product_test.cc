// Gradients of convolutions of half, and depthwise convolutions, have the bits of TensorFlow's,
// which rounds each step.
#include <cstdint>
#include <ostream>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"
#include "runtime/kernels/testing/narrow_tensor.h"

namespace tessera {
namespace {

struct RecordedConvolution {
  const char* op;
  int64_t batch, height, width, channels;
  int64_t more;  // channels of the output, or outputs of each channel of a depthwise one
  int64_t size, stride;
  const char* padding;
  uint64_t checksum;  // of TensorFlow's results, on one thread

  bool IsDepthwise() const { return absl::StartsWith(op, "Depthwise"); }
  bool IsSame() const { return absl::string_view(padding) == "SAME"; }
  int64_t OutputOf(int64_t points) const {
    return IsSame() ? (points + stride - 1) / stride : (points - size) / stride + 1;
  }
};
std::ostream& operator<<(std::ostream& out, const RecordedConvolution& r) {
  return out << r.op << " of [" << r.batch << ", " << r.height << ", " << r.width << ", "
             << r.channels << "], filter [" << r.size << ", " << r.size << ", " << r.channels
             << ", " << r.more << "], stride " << r.stride << ", " << r.padding;
}
// Printed by tests/conformance/narrow_checksums.py.
constexpr RecordedConvolution kConvolutions[] = {
    {"Conv2DBackpropInput", 2, 6, 7, 3, 8, 3, 1, "SAME", 0x9233db6ab55ef6bc},
    {"Conv2DBackpropFilter", 2, 6, 7, 3, 8, 3, 1, "SAME", 0x4bc7cec08374a785},
    {"Conv2DBackpropInput", 3, 7, 7, 5, 12, 3, 2, "SAME", 0x17d139c78f483735},
    {"Conv2DBackpropFilter", 3, 7, 7, 5, 12, 3, 2, "SAME", 0xf2e8dec4af42eef6},
    {"Conv2DBackpropInput", 1, 5, 6, 16, 27, 1, 1, "VALID", 0x05e9909ed7cbd744},
    {"Conv2DBackpropFilter", 1, 5, 6, 16, 27, 1, 1, "VALID", 0xad0cd4c69947f42e},
    {"Conv2DBackpropInput", 2, 6, 5, 4, 40, 2, 1, "VALID", 0xfabaea9fb8416fcc},
    {"Conv2DBackpropFilter", 2, 6, 5, 4, 40, 2, 1, "VALID", 0xfaa384805f2fedff},
    {"Conv2DBackpropInput", 16, 10, 10, 2, 20, 3, 1, "SAME", 0xb0024127401e5d90},
    {"Conv2DBackpropFilter", 16, 10, 10, 2, 20, 3, 1, "SAME", 0xf01b43eb0530f05f},
    {"DepthwiseConv2dNative", 2, 6, 7, 8, 1, 3, 1, "SAME", 0xf79d8ad6fa93a7e6},
    {"DepthwiseConv2dNativeBackpropInput", 2, 6, 7, 8, 1, 3, 1, "SAME", 0xd7af04361468bd8b},
    {"DepthwiseConv2dNativeBackpropFilter", 2, 6, 7, 8, 1, 3, 1, "SAME", 0x37c1dfd8c31777f8},
    {"DepthwiseConv2dNative", 3, 7, 7, 5, 2, 3, 2, "SAME", 0x15a4581a66fe5745},
    {"DepthwiseConv2dNativeBackpropInput", 3, 7, 7, 5, 2, 3, 2, "SAME", 0xeddb8d5b78509c8a},
    {"DepthwiseConv2dNativeBackpropFilter", 3, 7, 7, 5, 2, 3, 2, "SAME", 0xa12912423c6638cd},
    {"DepthwiseConv2dNative", 2, 5, 6, 19, 1, 5, 1, "VALID", 0x4aff83e93fae9dd7},
    {"DepthwiseConv2dNativeBackpropInput", 2, 5, 6, 19, 1, 5, 1, "VALID", 0x865fbc1a0c322728},
    {"DepthwiseConv2dNativeBackpropFilter", 2, 5, 6, 19, 1, 5, 1, "VALID", 0x42122c0ba8a917b6},
    {"DepthwiseConv2dNative", 2, 6, 6, 3, 4, 2, 1, "SAME", 0x0a0008c242b9a80d},
    {"DepthwiseConv2dNativeBackpropInput", 2, 6, 6, 3, 4, 2, 1, "SAME", 0x058ae3715e7ccb05},
    {"DepthwiseConv2dNativeBackpropFilter", 2, 6, 6, 3, 4, 2, 1, "SAME", 0x37a1c13354c81bbd},
};

Tensor Numbers(const Shape& shape) {
  return NarrowTensor(DType::kHalf, shape,
                      [](int64_t i) { return static_cast<float>(i * 7919 % 1000 - 500) / 128; });
}

Tensor ShapeTensor(const Shape& shape) {
  std::vector<int32_t> dims;
  for (const int64_t dim : shape.dims()) dims.push_back(static_cast<int32_t>(dim));
  return Tensor::Vector<int32_t>(dims);
}

std::vector<Tensor> InputsOf(const RecordedConvolution& r) {
  const Tensor image = Numbers({r.batch, r.height, r.width, r.channels});
  const Tensor filter =
      NarrowTensor(DType::kHalf, {r.size, r.size, r.channels, r.more},
                   [](int64_t i) { return static_cast<float>(i * 104729 % 1000 - 500) / 1024; });
  const Tensor gradient = Numbers({r.batch, r.OutputOf(r.height), r.OutputOf(r.width),
                                   r.IsDepthwise() ? r.channels * r.more : r.more});
  if (absl::EndsWith(r.op, "BackpropInput")) return {ShapeTensor(image.shape()), filter, gradient};
  if (absl::EndsWith(r.op, "BackpropFilter")) return {image, ShapeTensor(filter.shape()), gradient};
  return {image, filter};
}

TEST(StepwiseProductTest, ConvolutionsHaveTensorFlowsBits) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (const RecordedConvolution& r : kConvolutions) {
    const AttrMap attrs = {{"strides", std::vector<int64_t>{1, r.stride, r.stride, 1}},
                           {"padding", std::string(r.padding)}};
    EXPECT_EQ(NarrowChecksum(RunOp(r.op, InputsOf(r), attrs).value()), r.checksum) << r;
    EXPECT_EQ(NarrowChecksum(RunOp(r.op, InputsOf(r), attrs, &pool).value()), r.checksum)
        << r << " on several threads";
  }
}

struct RecordedEinsum {
  const char* equation;
  std::vector<int64_t> left, right;
  uint64_t checksum;  // of TensorFlow's results, on one thread
};
const RecordedEinsum kEinsums[] = {
    {"bij,bjk->bik", {3, 8, 30}, {3, 30, 29}, 0x9efeb8617f03bb7d},
    {"bij,bkj->bik", {4, 7, 8}, {4, 7, 8}, 0x6f37d3e6fbbe1eb0},
    {"aecd,abcd->acbe", {2, 9, 3, 16}, {2, 11, 3, 16}, 0x4cfdf423cef0c363},
    {"ij,jk->ik", {5, 900}, {900, 9}, 0x5d9c26555e046a64},
    {"bij,bjk->bik", {4, 6, 4}, {4, 4, 6}, 0xc441e6aa40c66f62},
};

TEST(StepwiseProductTest, EinsumHasTensorFlowsBits) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (const RecordedEinsum& r : kEinsums) {
    const std::vector<Tensor> inputs = {Numbers(Shape(r.left)), Numbers(Shape(r.right))};
    const AttrMap attrs = {{"equation", std::string(r.equation)}};
    EXPECT_EQ(NarrowChecksum(RunOp("Einsum", inputs, attrs).value()), r.checksum) << r.equation;
    EXPECT_EQ(NarrowChecksum(RunOp("Einsum", inputs, attrs, &pool).value()), r.checksum)
        << r.equation << " on several threads";
  }
}

}  // namespace
}  // namespace tessera
