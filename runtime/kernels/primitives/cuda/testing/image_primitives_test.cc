// Images, boxes and bands of matrices on the GPU beside the CPU, at sizes that the recorded calls
// of ops do not have.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "Eigen/Core"
#include "gtest/gtest.h"
#include "runtime/kernels/primitives/band_part.h"
#include "runtime/kernels/primitives/cuda/testing/both_devices.h"
#include "runtime/kernels/primitives/nearest_pixels.h"
#include "runtime/kernels/primitives/non_max_suppression.h"
#include "runtime/kernels/primitives/non_zero.h"
#include "runtime/kernels/primitives/resample.h"

namespace tessera {
namespace {

class ImagePrimitivesTest : public BothDevicesTest {
 protected:
  ResampleTaps Taps(int span, int64_t outputs, int64_t inputs) {
    ResampleTaps taps{.span = span, .index = {}, .weight = {}};
    std::uniform_int_distribution<int32_t> index(0, static_cast<int32_t>(inputs) - 1);
    std::uniform_real_distribution<float> weight(-0.5f, 1);
    for (int64_t i = 0; i < outputs * span; ++i) {
      taps.index.push_back(index(random_));
      taps.weight.push_back(i % 7 == 0 ? 0 : weight(random_));
    }
    return taps;
  }
  std::vector<int64_t> Places(int64_t outputs, int64_t inputs) {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < outputs; ++i) places.push_back(i * i % inputs);
    return places;
  }
  // Corners in either order, of which many overlap.
  Tensor Boxes(int64_t count) {
    Tensor boxes = Floats({count, 4}, 0, 1);
    for (int64_t i = 0; i < count * 4; ++i) {
      // A few box sizes, so that overlaps differ clearly.
      float& corner = boxes.data<float>()[i];
      corner = std::round(corner * 8) / 8;
    }
    return boxes;
  }
  void ExpectSameSelection(const NonMaxSuppression::Options& options, const Tensor& boxes,
                           const Tensor& scores, int64_t limit) {
    Tensor indices[2], selected[2], count[2];
    for (int device = 0; device < 2; ++device) {
      indices[device] = Empty(DType::kInt32, {limit});
      selected[device] = Empty(scores.dtype(), {limit});
      count[device] = Empty(DType::kInt32, {});
    }
    OnBoth<NonMaxSuppression>([&](auto* run, int device) {
      return run(ctx_, options, boxes, scores, &indices[device], &selected[device], &count[device]);
    });
    ExpectSameBytes(count[0], count[1]);
    ExpectSameBytes(indices[0], indices[1]);
    if (scores.dtype() == DType::kFloat) {
      ExpectNear(selected[0], selected[1]);
    } else {
      ExpectSameBytes(selected[0], selected[1]);
    }
    OnBoth<NonMaxSuppression>([&](auto* run, int device) {
      return run(ctx_, options, boxes, scores, &indices[device], nullptr, &count[device]);
    });
    ExpectSameBytes(indices[0], indices[1]);
  }
};

TEST_F(ImagePrimitivesTest, ResamplesByAnyNumberOfTapsAndBack) {
  for (const int span : {1, 2, 4, 9}) {
    const ResampleTaps rows = Taps(span, 19, 31), columns = Taps(span == 9 ? 2 : span, 40, 23);
    const Tensor images = Floats({2, 31, 23, 3});
    Tensor output[2] = {Empty(DType::kFloat, {2, 19, 40, 3}), Empty(DType::kFloat, {2, 19, 40, 3})};
    OnBoth<Resample>(
        [&](auto* run, int device) { return run(ctx_, rows, columns, images, &output[device]); });
    ExpectNear(output[0], output[1]);

    const Tensor gradients = Floats({2, 19, 40, 3});
    Tensor back[2] = {Empty(DType::kFloat, images.shape()), Empty(DType::kFloat, images.shape())};
    OnBoth<ResampleGradient>(
        [&](auto* run, int device) { return run(ctx_, rows, columns, gradients, &back[device]); });
    ExpectNear(back[0], back[1], 1e-4f);
  }
}

TEST_F(ImagePrimitivesTest, ResamplesSpecialNumbersAndIntegers) {
  const ResampleTaps rows = Taps(2, 9, 5), columns = Taps(2, 7, 6);
  Tensor images = Floats({1, 5, 6, 2});
  images.data<float>()[7] = std::numeric_limits<float>::quiet_NaN();
  images.data<float>()[30] = std::numeric_limits<float>::infinity();
  Tensor bytes = Empty(DType::kUint8, images.shape());
  for (int64_t i = 0; i < bytes.num_elements(); ++i) {
    bytes.data<uint8_t>()[i] = static_cast<uint8_t>(i * 37);
  }
  for (const Tensor& input : {images, bytes}) {
    Tensor output[2] = {Empty(DType::kFloat, {1, 9, 7, 2}), Empty(DType::kFloat, {1, 9, 7, 2})};
    OnBoth<Resample>(
        [&](auto* run, int device) { return run(ctx_, rows, columns, input, &output[device]); });
    ExpectNear(output[0], output[1]);
  }
}

TEST_F(ImagePrimitivesTest, TakesPixelsAndAddsGradientsUp) {
  const std::vector<int64_t> rows = Places(50, 17), columns = Places(33, 29);
  const Tensor images = Floats({3, 17, 29, 5});
  Tensor output[2] = {Empty(DType::kFloat, {3, 50, 33, 5}), Empty(DType::kFloat, {3, 50, 33, 5})};
  OnBoth<NearestPixels>(
      [&](auto* run, int device) { return run(ctx_, rows, columns, images, &output[device]); });
  ExpectSameBytes(output[0], output[1]);

  // In half, whose sums are rounded one by one.
  Tensor gradients = Empty(DType::kHalf, {1, 50, 33, 1});
  std::uniform_real_distribution<float> distribution(-4, 4);
  for (auto& g : gradients.flat<Eigen::half>()) g = static_cast<Eigen::half>(distribution(random_));
  Tensor sums[2] = {Empty(DType::kHalf, {1, 17, 29, 1}), Empty(DType::kHalf, {1, 17, 29, 1})};
  OnBoth<NearestPixelsGradient>(
      [&](auto* run, int device) { return run(ctx_, rows, columns, gradients, &sums[device]); });
  ExpectSameBytes(sums[0], sums[1]);
}

TEST_F(ImagePrimitivesTest, SelectsTheSameBoxesAsTheCpu) {
  const Tensor boxes = Boxes(600), scores = Floats({600}, 0, 1);
  for (const int64_t limit : {0, 1, 60, 600}) {
    ExpectSameSelection({.overlap_threshold = 0.4f, .score_threshold = 0.2f}, boxes, scores, limit);
    ExpectSameSelection({.overlap_threshold = 1, .score_threshold = -1}, boxes, scores, limit);
  }
  ExpectSameSelection({.overlap_threshold = 0.4f, .score_threshold = 0.05f, .soft_sigma = 0.5f},
                      boxes, scores, 60);
  ExpectSameSelection({.overlap_threshold = 0.5f}, Empty(DType::kFloat, {0, 4}),
                      Empty(DType::kFloat, {0}), 5);
}

TEST_F(ImagePrimitivesTest, EqualScoresAndScoresThatAreNoNumbers) {
  const Tensor boxes = Boxes(300);
  Tensor scores = Floats({300}, 0, 1);
  for (int64_t i = 0; i < 300; ++i) {
    float& score = scores.data<float>()[i];
    score = std::round(score * 4) / 4;
    if (i % 11 == 0) score = std::numeric_limits<float>::quiet_NaN();
    if (i % 13 == 0) score = std::numeric_limits<float>::infinity();
  }
  ExpectSameSelection({.overlap_threshold = 0.3f, .score_threshold = 0}, boxes, scores, 300);
}

TEST_F(ImagePrimitivesTest, OverlapsThatAreGivenAndBoxesOfHalf) {
  ExpectSameSelection({.overlap_threshold = 0.9f, .score_threshold = -2, .from_overlaps = true},
                      Floats({70, 70}, 0, 1), Floats({70}), 70);
  const Tensor wide_boxes = Boxes(200), wide_scores = Floats({200}, 0, 1);
  Tensor boxes = Empty(DType::kHalf, {200, 4}), scores = Empty(DType::kHalf, {200});
  const auto narrow = [](const Tensor& from, Tensor* to) {
    std::transform(from.flat<float>().begin(), from.flat<float>().end(), to->data<Eigen::half>(),
                   [](float x) { return static_cast<Eigen::half>(x); });
  };
  narrow(wide_boxes, &boxes);
  narrow(wide_scores, &scores);
  ExpectSameSelection({.overlap_threshold = 0.3f, .score_threshold = 0.1f}, boxes, scores, 60);
}

TEST_F(ImagePrimitivesTest, KeepsBandsOfMatrices) {
  for (const BandPart::Geometry& g :
       {BandPart::Geometry{40, 30, 2, 5}, BandPart::Geometry{40, 30, 0, 0},
        BandPart::Geometry{1, 30, 1, 7}, BandPart::Geometry{40, 1, 40, 1}}) {
    const Tensor given = Floats({3, g.rows, g.columns});
    Tensor kept[2] = {Empty(DType::kFloat, given.shape()), Copy(given)};
    OnBoth<BandPart>([&](auto* run, int device) { return run(ctx_, g, given, &kept[device]); });
    ExpectSameBytes(kept[0], kept[1]);
    OnBoth<BandPart>([&](auto* run, int device) {  // in place
      if (device == 0) kept[device] = Copy(given);
      return run(ctx_, g, kept[device], &kept[device]);
    });
    ExpectSameBytes(kept[0], kept[1]);
  }
}

TEST_F(ImagePrimitivesTest, FindsElementsThatAreNotZero) {
  for (const Shape& shape : {Shape{20011}, Shape{3, 41, 67}, Shape{5, 0, 3}, Shape{4096}}) {
    Tensor input = Floats(shape);
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      float& x = input.data<float>()[i];
      if (i % 3 != 0) x = i % 2 == 0 ? -0.0f : 0.0f;
      if (i % 21 == 0) x = std::numeric_limits<float>::quiet_NaN();
    }
    Tensor found[2];
    OnBoth<NonZero>([&](auto* run, int device) -> absl::Status {
      ASSIGN_OR_RETURN(found[device], run(ctx_, input));
      return absl::OkStatus();
    });
    EXPECT_EQ(found[0].shape(), found[1].shape());
    ExpectSameBytes(found[0], found[1]);
  }
}

}  // namespace
}  // namespace tessera
