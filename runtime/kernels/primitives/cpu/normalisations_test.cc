// Tests of BatchNorm, LayerNorm and LocalResponse that the recorded calls of ops do not cover.
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/primitives/batch_norm.h"
#include "runtime/kernels/primitives/channel_norm.h"
#include "runtime/kernels/primitives/layer_norm.h"
#include "runtime/kernels/primitives/local_response.h"

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsNan;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class NormalisationsTest : public ::testing::Test {
 protected:
  static Tensor Floats(const Shape& shape) {
    return Tensor::Allocate(DType::kFloat, shape).value();
  }

  StepContext step_;
  KernelContext ctx_{step_, /*device=*/nullptr};
};

// A batch norm of two channels, the last dimension of x.
class BatchNormTest : public NormalisationsTest {
 protected:
  absl::Status Run(const Tensor& x, bool is_training, float average_factor) {
    y_ = Floats(x.shape());
    return PrimitiveImplementations<BatchNorm>::Find(kCpu)(
        ctx_, {.shape = {.outer = x.dim(0), .channels = 2, .inner = 1},
               .epsilon = 0,
               .is_training = is_training,
               .average_factor = average_factor,
               .x = x,
               .scale = scale_,
               .offset = offset_,
               .mean = mean_,
               .variance = variance_,
               .y = &y_,
               .average_mean = &average_mean_,
               .average_variance = &average_variance_,
               .saved_mean = &saved_mean_,
               .saved_variance = &saved_variance_});
  }

  const Tensor scale_ = Tensor::Vector<float>({1, 2}), offset_ = Tensor::Vector<float>({0, 1});
  Tensor mean_ = Tensor::Vector<float>({10, 20}), variance_ = Tensor::Vector<float>({4, 16});
  Tensor y_, average_mean_ = Floats({2}), average_variance_ = Floats({2});
  Tensor saved_mean_ = Floats({2}), saved_variance_ = Floats({2});
};

TEST_F(BatchNormTest, InferencePassesItsEstimatesOn) {
  ASSERT_TRUE(Run(Tensor::Of<float>({1, 2}, {12, 24}), /*is_training=*/false, 1).ok());
  EXPECT_THAT(y_.flat<float>(), ElementsAre(1, 3));
  EXPECT_THAT(average_mean_.flat<float>(), ElementsAre(10, 20));
  EXPECT_THAT(saved_variance_.flat<float>(), ElementsAre(4, 16));
}

TEST_F(BatchNormTest, TrainingMovesTheAveragesByBesselsVariance) {
  ASSERT_TRUE(Run(Tensor::Of<float>({2, 2}, {-1, 3, 1, 7}), /*is_training=*/true, 0.5f).ok());
  EXPECT_THAT(y_.flat<float>(), ElementsAre(-1, -1, 1, 3));
  EXPECT_THAT(saved_mean_.flat<float>(), ElementsAre(0, 5));
  EXPECT_THAT(saved_variance_.flat<float>(), ElementsAre(1, 4));
  EXPECT_THAT(average_mean_.flat<float>(), ElementsAre(5, 12.5f));
  EXPECT_THAT(average_variance_.flat<float>(), ElementsAre(3, 12));
}

TEST_F(BatchNormTest, MomentsOfLargeMeansAreExact) {
  const Tensor x = Tensor::Of<float>({2, 2}, {1e6f - 1, 1e6f - 2, 1e6f + 1, 1e6f + 2});
  ASSERT_TRUE(Run(x, /*is_training=*/true, 1).ok());
  EXPECT_THAT(saved_mean_.flat<float>(), Each(1e6f));
  EXPECT_THAT(saved_variance_.flat<float>(), ElementsAre(1, 4));
}

TEST_F(BatchNormTest, WithoutEstimatesTrainingDoesNotReadThem) {
  mean_ = variance_ = Tensor::Of<float>({0}, {});
  ASSERT_TRUE(Run(Tensor::Of<float>({2, 2}, {-1, 3, 1, 7}), /*is_training=*/true, 1).ok());
  EXPECT_THAT(average_variance_.flat<float>(), ElementsAre(2, 8));
}

TEST_F(BatchNormTest, NothingHasNoStatistics) {
  for (const bool is_training : {false, true}) {
    ASSERT_TRUE(Run(Floats({0, 2}), is_training, 1).ok());
    EXPECT_THAT(average_mean_.flat<float>(), Each(IsNan()));
    EXPECT_THAT(average_variance_.flat<float>(), Each(IsNan()));
    EXPECT_EQ(saved_mean_.flat<float>()[0], is_training ? 0 : 10);
  }
}

TEST_F(BatchNormTest, ANaNStaysInItsChannel) {
  ASSERT_TRUE(Run(Tensor::Of<float>({2, 2}, {kNaN, 3, 1, 7}), /*is_training=*/true, 1).ok());
  EXPECT_TRUE(std::isnan(y_.flat<float>()[2]));
  EXPECT_EQ(y_.flat<float>()[3], 3);
}

// Channels last and channels first, with more points than one block of a sum and with a rest.
TEST_F(NormalisationsTest, LayoutsOfABatchNormAgreeWithItsDefinition) {
  constexpr int64_t kImages = 5, kChannels = 3, kPoints = 1237;
  constexpr int64_t kCount = kImages * kPoints;
  Tensor last = Floats({kImages * kPoints, kChannels}), dy_last = Floats(last.shape());
  Tensor first = Floats({kImages, kChannels, kPoints}), dy_first = Floats(first.shape());
  const auto at_last = [](int64_t n, int64_t c, int64_t p) {
    return (n * kPoints + p) * kChannels + c;
  };
  const auto at_first = [](int64_t n, int64_t c, int64_t p) {
    return (n * kChannels + c) * kPoints + p;
  };
  std::vector<double> mean(kChannels), variance(kChannels), sum(kChannels), product(kChannels);
  const auto for_each = [&](auto&& visit) {
    for (int64_t n = 0; n < kImages; ++n) {
      for (int64_t c = 0; c < kChannels; ++c) {
        for (int64_t p = 0; p < kPoints; ++p) visit(n, c, p);
      }
    }
  };
  const auto x_of = [](int64_t n, int64_t c, int64_t p) {
    return static_cast<float>((p * 7 + n * 3) % 11) * static_cast<float>(c + 1) + 2;
  };
  const auto dy_of = [](int64_t n, int64_t c, int64_t p) {
    return static_cast<float>((p * 5 + n + c) % 13) - 4;
  };
  for_each([&](int64_t n, int64_t c, int64_t p) {
    last.data<float>()[at_last(n, c, p)] = x_of(n, c, p);
    first.data<float>()[at_first(n, c, p)] = x_of(n, c, p);
    dy_last.data<float>()[at_last(n, c, p)] = dy_of(n, c, p);
    dy_first.data<float>()[at_first(n, c, p)] = dy_of(n, c, p);
    mean[c] += static_cast<double>(x_of(n, c, p)) / kCount;
  });
  for_each([&](int64_t n, int64_t c, int64_t p) {
    const double centred = x_of(n, c, p) - mean[c];
    variance[c] += centred * centred / kCount;
    sum[c] += dy_of(n, c, p);
    product[c] += dy_of(n, c, p) * centred;
  });
  Tensor means = Floats({kChannels}), variances = Floats({kChannels}), scale = Floats({kChannels});
  for (int64_t c = 0; c < kChannels; ++c) {
    means.data<float>()[c] = static_cast<float>(mean[c]);
    variances.data<float>()[c] = static_cast<float>(variance[c]);
    scale.data<float>()[c] = static_cast<float>(c) + 0.5f;
  }

  for (const bool channels_first : {false, true}) {
    const ChannelShape shape = channels_first ? ChannelShape{kImages, kChannels, kPoints}
                                              : ChannelShape{kImages * kPoints, kChannels, 1};
    const Tensor& x = channels_first ? first : last;
    Tensor y = Floats(x.shape()), dx = Floats(x.shape());
    Tensor statistics[4], dscale = Floats({kChannels}), doffset = Floats({kChannels});
    for (Tensor& tensor : statistics) tensor = Floats({kChannels});
    ASSERT_TRUE(
        PrimitiveImplementations<BatchNorm>::Find(kCpu)(ctx_, {.shape = shape,
                                                               .epsilon = 1e-3f,
                                                               .is_training = true,
                                                               .average_factor = 1,
                                                               .x = x,
                                                               .scale = scale,
                                                               .offset = scale,
                                                               .mean = means,
                                                               .variance = variances,
                                                               .y = &y,
                                                               .average_mean = &statistics[0],
                                                               .average_variance = &statistics[1],
                                                               .saved_mean = &statistics[2],
                                                               .saved_variance = &statistics[3]})
            .ok());
    ASSERT_TRUE(PrimitiveImplementations<BatchNormGradient>::Find(kCpu)(
                    ctx_, {.shape = shape,
                           .epsilon = 1e-3f,
                           .is_training = true,
                           .dy = channels_first ? dy_first : dy_last,
                           .x = x,
                           .scale = scale,
                           .mean = means,
                           .variance = variances,
                           .dx = &dx,
                           .dscale = &dscale,
                           .doffset = &doffset})
                    .ok());
    for_each([&](int64_t n, int64_t c, int64_t p) {
      const int64_t i = channels_first ? at_first(n, c, p) : at_last(n, c, p);
      const double inverse = 1 / std::sqrt(variance[c] + 1e-3);
      const double normal = (x_of(n, c, p) - mean[c]) * inverse;
      const double factor = (static_cast<double>(c) + 0.5) * inverse;
      const double rest = dy_of(n, c, p) - sum[c] / kCount - normal * product[c] * inverse / kCount;
      ASSERT_NEAR(y.data<float>()[i], normal * (c + 0.5) + c + 0.5, 1e-5) << i;
      ASSERT_NEAR(dx.data<float>()[i], factor * rest, 1e-5) << i;
    });
    for (int64_t c = 0; c < kChannels; ++c) {
      const double inverse = 1 / std::sqrt(variance[c] + 1e-3);
      EXPECT_FLOAT_EQ(statistics[2].data<float>()[c], static_cast<float>(mean[c]));
      EXPECT_FLOAT_EQ(statistics[3].data<float>()[c], static_cast<float>(variance[c]));
      EXPECT_NEAR(dscale.data<float>()[c], product[c] * inverse, 1e-2);
      EXPECT_NEAR(doffset.data<float>()[c], sum[c], 1e-2);
    }
  }
}

TEST_F(NormalisationsTest, TheGradientOfABatchNormIsThatOfItsDefinition) {
  const Shape shape{3, 1};
  const Tensor x = Tensor::Of<float>(shape, {1, 2, 4}), dy = Tensor::Of<float>(shape, {1, -2, 3});
  const Tensor scale = Tensor::Vector<float>({2});
  // The moments of x.
  const Tensor mean = Tensor::Vector<float>({7 / 3.0f});
  const Tensor variance = Tensor::Vector<float>({14 / 9.0f});
  Tensor dx = Floats(shape), dscale = Floats({1}), doffset = Floats({1});
  ASSERT_TRUE(PrimitiveImplementations<BatchNormGradient>::Find(kCpu)(
                  ctx_, {.shape = {.outer = 3, .channels = 1, .inner = 1},
                         .epsilon = 0,
                         .is_training = true,
                         .dy = dy,
                         .x = x,
                         .scale = scale,
                         .mean = mean,
                         .variance = variance,
                         .dx = &dx,
                         .dscale = &dscale,
                         .doffset = &doffset})
                  .ok());
  // loss(x) = sum(dy * y(x)), differentiated numerically.
  const auto loss = [&](int changed, double by) {
    double v[3], m = 0, s = 0, sum = 0;
    for (int i = 0; i < 3; ++i) m += (v[i] = x.flat<float>()[i] + (i == changed ? by : 0)) / 3;
    for (int i = 0; i < 3; ++i) s += (v[i] - m) * (v[i] - m) / 3;
    for (int i = 0; i < 3; ++i) sum += dy.flat<float>()[i] * (v[i] - m) / std::sqrt(s) * 2;
    return sum;
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(dx.flat<float>()[i], (loss(i, 1e-5) - loss(i, -1e-5)) / 2e-5, 1e-5);
  }
  EXPECT_NEAR(dscale.flat<float>()[0], loss(-1, 0) / 2, 1e-5);
  EXPECT_EQ(doffset.flat<float>()[0], 2);
}

TEST_F(NormalisationsTest, AChannelNormActivatesWhatItNormalised) {
  Tensor values = Tensor::Of<double>({2, 2, 1}, {1, 5, 3, 2});
  const Tensor scale = Tensor::Vector<double>({1, 2}), offset = Tensor::Vector<double>({0, 1});
  const Tensor mean = Tensor::Vector<double>({2, 4}), variance = Tensor::Vector<double>({1, 4});
  ASSERT_TRUE(PrimitiveImplementations<ChannelNorm>::Find(kCpu)(
                  ctx_, {.shape = {.outer = 2, .channels = 2, .inner = 1},
                         .epsilon = 0,
                         .activation = Activation::kRelu,
                         .scale = scale,
                         .offset = offset,
                         .mean = mean,
                         .variance = variance,
                         .values = &values})
                  .ok());
  EXPECT_THAT(values.flat<double>(), ElementsAre(0, 2, 1, 0));
}

TEST_F(NormalisationsTest, ALayerNormWorksInPlaceAndAddsFirst) {
  Tensor x = Tensor::Of<float>({2, 2}, {0, 1, 5, 5});
  const Tensor addend = Tensor::Of<float>({2, 2}, {1, 2, 0, 0});
  const Tensor gamma = Tensor::Vector<float>({1, 2}), beta = Tensor::Vector<float>({0, 1});
  ASSERT_TRUE(PrimitiveImplementations<LayerNorm>::Find(kCpu)(ctx_, {.rows = 2,
                                                                     .columns = 2,
                                                                     .epsilon = 1e-9f,
                                                                     .x = x,
                                                                     .addend = &addend,
                                                                     .gamma = gamma,
                                                                     .beta = beta,
                                                                     .y = &x})
                  .ok());
  EXPECT_THAT(x.flat<float>(), ElementsAre(FloatNear(-1, 1e-6f), FloatNear(3, 1e-6f), 0, 1));
}

TEST_F(NormalisationsTest, ALocalResponseStopsAtTheEdgesOfThePixel) {
  const Tensor x = Tensor::Of<float>({2, 3}, {1, 2, 3, 0, 0, 4});
  Tensor y = Floats({2, 3});
  const LocalResponseOptions options = {.radius = 1, .bias = 1, .alpha = 1, .beta = 1};
  ASSERT_TRUE(PrimitiveImplementations<LocalResponse>::Find(kCpu)(ctx_, options, 3, x, &y).ok());
  EXPECT_THAT(y.flat<float>(), ElementsAre(1 / 6.0f, 2 / 15.0f, FloatNear(3 / 14.0f, 1e-7f), 0, 0,
                                           FloatNear(4 / 17.0f, 1e-7f)));
}

}  // namespace
}  // namespace tessera
