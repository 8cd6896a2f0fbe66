// What kernels do around the calls of libraries, with a stand-in for these.
#include <cmath>
#include <limits>

#include "Eigen/Core"
#include "gtest/gtest.h"
#include "runtime/kernels/primitives/attention.h"
#include "runtime/kernels/primitives/batch_norm.h"
#include "runtime/kernels/primitives/cuda/testing/both_devices.h"
#include "runtime/kernels/primitives/cuda/testing/library_stand_in.h"

namespace tessera {
namespace {

using cuda::LibraryStandIn;

struct NormOutputs {
  explicit NormOutputs(const Tensor& x, int64_t channels) {
    y = Tensor::Allocate(DType::kFloat, x.shape()).value();
    for (Tensor* t : {&mean, &variance, &saved_mean, &saved_variance}) {
      *t = Tensor::Allocate(DType::kFloat, {channels}).value();
    }
  }
  Tensor y, mean, variance, saved_mean, saved_variance;
};

class LibraryCallsTest : public BothDevicesTest {
 protected:
  static Tensor Halves(const Tensor& floats) {
    Tensor halves = Empty(DType::kHalf, floats.shape());
    for (int64_t i = 0; i < floats.num_elements(); ++i) {
      halves.flat<Eigen::half>()[i] = Eigen::half(floats.flat<float>()[i]);
    }
    return halves;
  }
  static Tensor Floated(const Tensor& halves) {
    Tensor floats = Empty(DType::kFloat, halves.shape());
    for (int64_t i = 0; i < halves.num_elements(); ++i) {
      floats.flat<float>()[i] = static_cast<float>(halves.flat<Eigen::half>()[i]);
    }
    return floats;
  }
  // Values that half holds exactly.
  Tensor HalfFloats(const Shape& shape, float low, float high) {
    return Floated(Halves(Floats(shape, low, high)));
  }

  // Normalises `x` in training, on the CPU and by the library: `vector` is scale and offset,
  // `averages` are the moving ones before.
  void TrainBatchNorm(const ChannelShape& shape, float average_factor, const Tensor& x,
                      const Tensor& vector, const Tensor& averages, NormOutputs (&outputs)[2]) {
    OnBoth<BatchNorm>([&](auto* run, int d) {
      NormOutputs& o = outputs[d];
      return run(ctx_, {.shape = shape,
                        .epsilon = 1e-3f,
                        .is_training = true,
                        .average_factor = average_factor,
                        .x = x,
                        .scale = vector,
                        .offset = vector,
                        .mean = averages,
                        .variance = averages,
                        .y = &o.y,
                        .average_mean = &o.mean,
                        .average_variance = &o.variance,
                        .saved_mean = &o.saved_mean,
                        .saved_variance = &o.saved_variance});
    });
  }
};

TEST_F(LibraryCallsTest, BatchNormReturnsTheStatisticsOfTheCpu) {
  LibraryStandIn library;
  // The variance is far below epsilon: what is computed from a deviation with epsilon loses it.
  const ChannelShape shape{.outer = 300, .channels = 5, .inner = 1};
  const Tensor x = Floats({300, 5}, 0.999f, 1.001f), vector = Floats({5}, 0.5f, 2);
  for (const float factor : {0.1f, 1.0f}) {
    // With a share of 1 the old averages are not read.
    Tensor old = Copy(vector);
    if (factor == 1.0f) old.data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    NormOutputs outputs[2] = {NormOutputs(x, 5), NormOutputs(x, 5)};
    TrainBatchNorm(shape, factor, x, vector, old, outputs);
    ExpectNear(outputs[0].y, outputs[1].y);
    ExpectNear(outputs[0].mean, outputs[1].mean);
    ExpectNear(outputs[0].variance, outputs[1].variance);
    ExpectNear(outputs[0].saved_mean, outputs[1].saved_mean);
    for (int c = 0; c < 5; ++c) {
      const float want = outputs[0].saved_variance.flat<float>()[c];
      EXPECT_NEAR(outputs[1].saved_variance.flat<float>()[c], want, 1e-4f * want);
    }
  }
  EXPECT_EQ(library.num_calls(), 2);
}

TEST_F(LibraryCallsTest, BatchNormOfOnePointAndOfNoneIsTheKernels) {
  LibraryStandIn library;
  for (const int64_t points : {0, 1}) {
    const Tensor x = Floats({points, 3}), vector = Floats({3}, 0.5f, 2);
    NormOutputs outputs[2] = {NormOutputs(x, 3), NormOutputs(x, 3)};
    TrainBatchNorm({.outer = points, .channels = 3, .inner = 1}, /*average_factor=*/1, x, vector,
                   vector, outputs);
    ExpectNear(outputs[0].y, outputs[1].y);
    ExpectNear(outputs[0].variance, outputs[1].variance);
  }
  EXPECT_EQ(library.num_calls(), 0);
}

TEST_F(LibraryCallsTest, GradientOfBatchNorm) {
  LibraryStandIn library;
  const ChannelShape shape{.outer = 3, .channels = 5, .inner = 70};
  const Tensor x = Floats({3, 5, 70}), dy = Floats(x.shape());
  const Tensor scale = Floats({5}), mean = Floats({5}), variance = Floats({5}, 0.1f, 1);
  Tensor dx[2], dscale[2], doffset[2];
  OnBoth<BatchNormGradient>([&](auto* run, int d) {
    dx[d] = Empty(DType::kFloat, x.shape());
    dscale[d] = Empty(DType::kFloat, {5}), doffset[d] = Empty(DType::kFloat, {5});
    return run(ctx_, {.shape = shape,
                      .epsilon = 1e-3f,
                      .is_training = true,
                      .dy = dy,
                      .x = x,
                      .scale = scale,
                      .mean = mean,
                      .variance = variance,
                      .dx = &dx[d],
                      .dscale = &dscale[d],
                      .doffset = &doffset[d]});
  });
  ExpectNear(dx[0], dx[1], 1e-4f);
  ExpectNear(dscale[0], dscale[1], 1e-4f);
  ExpectNear(doffset[0], doffset[1], 1e-4f);
  EXPECT_EQ(library.num_calls(), 1);
}

// Attention in half, by the stand-in or by the kernel, beside that of floats on the CPU.
class HalfAttentionTest : public LibraryCallsTest {
 protected:
  const int64_t batch_ = 2, heads_ = 3, queries_ = 4, keys_ = 300;
  const Tensor query_ = HalfFloats({batch_, queries_, heads_, 8}, -1, 1);
  const Tensor key_ = HalfFloats({batch_, keys_, heads_, 8}, -1, 1);
  const Tensor value_ = HalfFloats({batch_, heads_, keys_, 6}, -1, 1);

  struct Masks {
    std::vector<Tensor> added;  // floats that half holds
    bool added_are_half = true;
    std::optional<Tensor> keep;
    float masked = -1e9f;
  };
  void ExpectSame(const Masks& masks) {
    const auto run = [&](auto* attention, const Tensor& query, const Tensor& key,
                         const Tensor& value, absl::Span<const Tensor> added, Tensor* output) {
      AttentionInputs inputs{.query = &query, .key = &key, .value = &value};
      inputs.query_order.heads_first = inputs.key_order.heads_first = false;
      inputs.batch = batch_, inputs.heads = heads_, inputs.queries = queries_, inputs.keys = keys_;
      inputs.scale = 0.5f;
      for (const Tensor& mask : added) inputs.masks.emplace_back(mask, false);
      if (masks.keep.has_value()) inputs.keep.emplace(*masks.keep, false);
      inputs.masked = masks.masked;
      const absl::Status status = attention(ctx_, inputs, output);
      ASSERT_TRUE(status.ok()) << status;
    };
    const Shape shape = {batch_, heads_, queries_, 6};
    Tensor want = Empty(DType::kFloat, shape), have = Empty(DType::kHalf, shape);
    run(PrimitiveImplementations<Attention>::Find(kCpu), query_, key_, value_, masks.added, &want);
    std::vector<Tensor> added;
    for (const Tensor& mask : masks.added) {
      added.push_back(masks.added_are_half ? Halves(mask) : mask);
    }
    run(PrimitiveImplementations<NarrowAttention>::Find(kEmulated), Halves(query_), Halves(key_),
        Halves(value_), added, &have);
    ExpectNear(want, Floated(have), 1e-3f);
  }
  Tensor Keep(const Shape& shape) {
    Tensor keep = Empty(DType::kBool, shape);
    for (int64_t i = 0; i < keep.num_elements(); ++i) keep.flat<bool>()[i] = i % 3 != 1;
    return keep;
  }
};

TEST_F(HalfAttentionTest, MasksOfEachKind) {
  for (const bool by_library : {false, true}) {
    SCOPED_TRACE(by_library);
    std::optional<LibraryStandIn> library;
    if (by_library) library.emplace();
    ExpectSame({});
    for (const bool half : {false, true}) {
      ExpectSame({.added = {HalfFloats({batch_, 1, 1, keys_}, -4, 0)}, .added_are_half = half});
      ExpectSame(
          {.added = {HalfFloats({queries_, keys_}, -4, 0), HalfFloats({heads_, 1, 1}, -1, 1)},
           .added_are_half = half});
      ExpectSame({.added = {HalfFloats({heads_, queries_, keys_}, -4, 0)},
                  .added_are_half = half,
                  .keep = Keep({batch_, 1, 1, keys_})});
    }
    ExpectSame({.keep = Keep({queries_, keys_})});
    ExpectSame({.keep = Keep({}), .masked = -6e4f});
    EXPECT_EQ(by_library ? library->num_calls() : 9, 9);
  }
}

TEST_F(HalfAttentionTest, QueryWithoutAnyKeyWeighsAllAlike) {
  LibraryStandIn library;
  Tensor keep = Keep({queries_, keys_});
  std::fill_n(keep.data<bool>(), keys_, false);
  ExpectSame({.keep = keep, .masked = -2e4f});
  EXPECT_EQ(library.num_calls(), 1);
}

TEST_F(HalfAttentionTest, NumbersThatCountAreLeftToTheKernel) {
  LibraryStandIn library;
  ExpectSame({.keep = Keep({keys_}), .masked = 0.5f});
  ExpectSame({.keep = Keep({keys_}), .masked = -std::numeric_limits<float>::infinity()});
  EXPECT_EQ(library.num_calls(), 0);
}

}  // namespace
}  // namespace tessera
