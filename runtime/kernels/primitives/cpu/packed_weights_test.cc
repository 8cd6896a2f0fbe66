#include "runtime/kernels/primitives/cpu/packed_weights.h"

#include <atomic>
#include <cstring>
#include <fstream>
#include <limits>
#include <string_view>

#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/framework/testing/test_device.h"
#include "runtime/host/mapped_file.h"
#include "runtime/host/testing/mapping_state.h"
#include "runtime/kernels/primitives/cpu/convolution_layout.h"
#include "runtime/kernels/primitives/cpu/onednn_weights.h"
#include "runtime/kernels/primitives/cpu/product_planner.h"
#include "runtime/kernels/primitives/cpu/testing/kernel_product.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

// The heap, with a count of the bytes in use.
class CountingAllocator : public Allocator {
 public:
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override {
    auto buffer = HeapAllocator()->Allocate(size);
    if (!buffer.ok()) return buffer.status();
    held_ += size;
    char* const data = (*buffer)->data();
    const std::shared_ptr<const void> owner(
        data, [this, size, kept = *std::move(buffer)](const void*) { held_ -= size; });
    return WrapBuffer(owner, data, size, /*writable=*/true);
  }
  int64_t held() const { return held_; }

 private:
  std::atomic<int64_t> held_{0};
};

Tensor RandomScale(int64_t channels, int seed) {
  const Tensor values = RandomTensor({channels}, seed);
  Tensor scale = Tensor::Allocate(DType::kDouble, {channels}).value();
  for (int64_t i = 0; i < channels; ++i) scale.data<double>()[i] = values.data<float>()[i] / 3.0;
  return scale;
}

// Computes the scaled filter by its definition.
Tensor Product(const Tensor& values, const Tensor& scale) {
  Tensor product = values.DeepCopy().value();
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    product.data<float>()[i] = static_cast<float>(values.data<float>()[i] *
                                                  scale.flat<double>()[i % scale.num_elements()]);
  }
  return product;
}

bool IsSame(const Tensor& a, const Tensor& b) {
  return a.size_bytes() == b.size_bytes() && std::memcmp(a.raw(), b.raw(), a.size_bytes()) == 0;
}

ConvolutionShape Square(int64_t batch, int64_t size, int64_t filter, int64_t in, int64_t out,
                        int64_t groups = 1) {
  const int64_t pad = filter / 2;
  return {.batch = batch,
          .in_channels = in,
          .out_channels = out,
          .groups = groups,
          .input = {size, size},
          .filter = {filter, filter},
          .output = {size, size},
          .strides = {1, 1},
          .dilations = {1, 1},
          .pad_before = {pad, pad},
          .pad_after = {pad, pad}};
}

// Returns the result of the last of `runs` equal runs.
Tensor Convolved(KernelConvolution& convolution, const ConvolutionShape& s,
                 const Tensor* scale = nullptr, float first_input = 1, int runs = 1) {
  Tensor input = RandomTensor({s.batch, s.input[0], s.input[1], s.in_channels}, 1);
  input.data<float>()[0] = first_input;
  const Tensor bias = RandomTensor({s.out_channels}, 2);
  const Tensor addend = RandomTensor({s.batch, s.output[0], s.output[1], s.out_channels}, 3);
  Tensor output = Tensor::Allocate(DType::kFloat, addend.shape()).value();
  for (int run = 0; run < runs; ++run) {
    EXPECT_TRUE(convolution
                    .Run(s, {.bias = true, .add = true}, input, {.bias = &bias, .addend = &addend},
                         &output, scale)
                    .ok());
  }
  return output;
}

// Convolves by a constant filter that no other run has.
Tensor ConvolvedAlone(const ConvolutionShape& s, const Tensor& filter) {
  KernelConvolution convolution(filter, {.is_constant = true});
  return Convolved(convolution, s);
}

// Convolves by a filter that may vary. It is packed if it comes in enough runs.
Tensor ConvolvedInALoop(KernelConvolution& convolution, const ConvolutionShape& s,
                        const Tensor& filter, int runs) {
  convolution.SetWeights(filter);
  return Convolved(convolution, s, nullptr, 1, runs);
}

struct Case {
  const char* name;
  ConvolutionShape shape;
};

std::vector<Case> Cases() {
  ConvolutionShape channels_first = Square(2, 9, 3, 64, 64);
  channels_first.channels_first = true;
  return {{"Winograd, few images", Square(1, 14, 3, 64, 64)},
          {"Winograd, many images", Square(32, 14, 3, 64, 64)},
          {"panels, one image", Square(1, 7, 3, 160, 256)},
          {"panels, two images", Square(2, 7, 1, 256, 512)},
          {"Strassen, many images", Square(20, 7, 1, 256, 512)},
          {"panels, one point", Square(16, 1, 1, 256, 512)},
          {"one row", Square(1, 1, 1, 256, 512)},
          {"oneDNN", Square(1, 30, 1, 128, 256)},
          {"oneDNN, many images", Square(4, 30, 1, 128, 256)},
          {"oneDNN, few channels", Square(2, 30, 3, 3, 5)},
          {"groups", Square(2, 9, 3, 64, 128, 4)},
          {"depthwise", Square(2, 9, 3, 32, 32, 32)},
          {"channels first", channels_first}};
}

TEST(PackedWeightsTest, AScaledFilterGivesWhatItsProductGives) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    for (const auto& [name, s] : Cases()) {
      SCOPED_TRACE(name);
      CountingAllocator allocator;
      AllocatorDevice device(&allocator);
      KernelConvolution::Options options{.threads = threads, .device = &device};
      const Tensor filter =
          RandomTensor({s.filter[0], s.filter[1], s.in_channels / s.groups, s.out_channels}, 4);
      const Tensor scale = RandomScale(s.out_channels, 5);
      const Tensor product = Product(filter, scale);
      KernelConvolution varying(filter, options), varying_product(product, options);
      EXPECT_TRUE(IsSame(Convolved(varying, s, &scale), Convolved(varying_product, s)))
          << "of a filter that varies";
      options.is_constant = true;
      KernelConvolution constant(filter, options), constant_product(product, options);
      for (int run = 0; run < 3; ++run) {
        const Tensor expected = Convolved(constant_product, s);
        EXPECT_TRUE(IsSame(Convolved(constant, s, &scale), expected)) << run;
      }
      EXPECT_EQ(allocator.held(), 0) << "products of weights and scale are kept";
    }
  }
}

TEST(PackedWeightsTest, AlsoOfImagesWithAnInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& [name, s] : Cases()) {
    SCOPED_TRACE(name);
    const Tensor filter =
        RandomTensor({s.filter[0], s.filter[1], s.in_channels / s.groups, s.out_channels}, 4);
    const Tensor scale = RandomScale(s.out_channels, 5);
    KernelConvolution convolution(filter, {.is_constant = true});
    KernelConvolution of_product(Product(filter, scale), {.is_constant = true});
    EXPECT_TRUE(IsSame(Convolved(convolution, s, &scale, kInfinity),
                       Convolved(of_product, s, nullptr, kInfinity)));
  }
}

// The other cases would prove nothing if they all took one path.
TEST(PackedWeightsTest, TheCasesGoDifferentWays) {
  const MachineSpeeds speeds = *FindMachineSpeeds("intel-avx512");
  for (const auto& [name, s] : Cases()) {
    SCOPED_TRACE(name);
    const std::string_view way = name;
    const ProductAlgorithm planned =
        PlanConvolution({.shape = s, .has_constant_filter = true}, {speeds});
    EXPECT_EQ(planned == ProductAlgorithm::kWinograd2 || planned == ProductAlgorithm::kWinograd4,
              way.starts_with("Winograd"));
    EXPECT_EQ(planned == ProductAlgorithm::kFmaGemm, way.starts_with("panels"));
    EXPECT_EQ(planned == ProductAlgorithm::kStrassen, way.starts_with("Strassen"));
  }
}

TEST(PackedWeightsTest, OtherWeightsOrAnotherScaleArePackedAnew) {
  for (const auto& [name, s] : Cases()) {
    SCOPED_TRACE(name);
    const Shape shape = {s.filter[0], s.filter[1], s.in_channels / s.groups, s.out_channels};
    const Tensor filter = RandomTensor(shape, 4), other = RandomTensor(shape, 5);
    const Tensor scales[] = {RandomScale(s.out_channels, 6), RandomScale(s.out_channels, 7)};
    KernelConvolution constant(filter, {.is_constant = true});
    for (const Tensor* const scale :
         {&scales[0], &scales[1], static_cast<const Tensor*>(nullptr)}) {
      const Tensor product = scale == nullptr ? filter : Product(filter, *scale);
      EXPECT_TRUE(IsSame(Convolved(constant, s, scale), ConvolvedAlone(s, product)));
    }
    KernelConvolution varying(filter, {});
    EXPECT_TRUE(IsSame(ConvolvedInALoop(varying, s, filter, 2), ConvolvedAlone(s, filter)));
    EXPECT_TRUE(IsSame(ConvolvedInALoop(varying, s, other, 4), ConvolvedAlone(s, other)));
  }
}

TEST(PackedWeightsTest, RowsOfTheSameWeightsArePackedAnew) {
  const Tensor all = RandomTensor({256, 512}, 4);
  KernelConvolution convolution(all, {});
  for (const int64_t rows : {256, 128, 256}) {
    const Tensor filter = Tensor::View(DType::kFloat, {1, 1, rows, 512}, all.buffer());
    const ConvolutionShape s = Square(20, 7, 1, rows, 512);
    EXPECT_TRUE(IsSame(ConvolvedInALoop(convolution, s, filter, 8), ConvolvedAlone(s, filter)))
        << rows;
  }
}

TEST(PackedWeightsTest, PagesOfScaledWeightsLeaveMemory) {
  constexpr size_t kMinMapped = 64 << 10;  // smaller files are read, not mapped
  for (const auto& [name, s] : Cases()) {
    SCOPED_TRACE(name);
    const Tensor values =
        RandomTensor({s.filter[0], s.filter[1], s.in_channels / s.groups, s.out_channels}, 4);
    if (values.size_bytes() < kMinMapped) continue;
    const std::string path = JoinPath(::testing::TempDir(), "weights");
    std::ofstream(path).write(values.raw(), values.size_bytes());
    if (!CanGuard(path)) GTEST_SKIP() << "needs leases on files";
    const auto file = *MappedFile::Open(path);
    const Tensor filter =
        Tensor::View(DType::kFloat, values.shape(), MapBuffer(file, 0, values.size_bytes()));
    const Tensor scale = RandomScale(s.out_channels, 5);
    KernelConvolution convolution(filter, {.is_constant = true});
    Convolved(convolution, s, &scale);
    EXPECT_LE(ResidentSize(filter.raw()), 4) << "more than the last page";
  }
}

TEST(PackedWeightsTest, PlainWeightsAreAViewUnlessTheyAreScaled) {
  StepContext step;
  KernelContext ctx(step, nullptr);
  const Tensor weights = RandomTensor({3, 3, 4, 8}, 1), scale = RandomScale(8, 2);
  const dnnl::memory::desc plain = FilterLayout(Square(1, 5, 3, 4, 8));
  PackedWeights packed;
  const auto data_of = [&](const ScaledWeights& w) {
    return onednn::WeightsInLayout(ctx, w, {plain, plain}, &packed)->data;
  };
  EXPECT_EQ(data_of(weights), weights.raw());
  const void* const scaled = data_of({weights, &scale});
  const Tensor expected = Product(weights, scale);
  EXPECT_EQ(std::memcmp(scaled, expected.raw(), expected.size_bytes()), 0);
  EXPECT_EQ(data_of({weights, &scale}), scaled) << "scaled more than once";
}

// A kernel whose only input is its weights.
class WeightsInput {
 public:
  explicit WeightsInput(const Tensor* constant, Numerics numerics = Numerics::kFast)
      : build_(op_, "product", attrs_, {DType::kFloat}, {}, nullptr, nullptr,
               {.constant_inputs = {constant}, .numerics = numerics}),
        weights_(build_, 0) {}

  // Returns whether the weights are to be packed in a run that gets `weights`.
  bool PacksIn(const Tensor& weights, bool last_use = false) {
    Value value{.tensor = weights};
    const KernelContext::InputSlot slot{.index = 0, .last_use = last_use};
    KernelContext ctx(step_, nullptr);
    ctx.Bind(&value, {&slot, 1}, nullptr, {});
    PackedWeights* const packed = weights_.UseFor(ctx);
    if (packed == nullptr) return false;
    const auto copy = [&](const Tensor&) { return weights.DeepCopy(); };
    const Tensor format = *packed->Get(ctx, weights, {.kind = PackedFormat::Kind::kPanels}, copy);
    EXPECT_TRUE(IsSame(format, weights)) << "packed from other weights";
    return true;
  }

  // What follows is another run.
  void BeginRun() { ++step_.step_id; }

 private:
  const OpDef op_;
  const AttrMap attrs_;
  const KernelBuild build_;
  StepContext step_;
  PackedWeights weights_;
};

TEST(PackedWeightsTest, ConstantsArePackedByTheFirstRun) {
  const Tensor weights = RandomTensor({8, 8}, 1);
  EXPECT_TRUE(WeightsInput(&weights).PacksIn(weights));
  EXPECT_FALSE(WeightsInput(nullptr).PacksIn(weights));
}

TEST(PackedWeightsTest, InvariantsOfALoopArePackedByItsSecondIteration) {
  const Tensor weights = RandomTensor({8, 8}, 1), others = RandomTensor({8, 8}, 2);
  WeightsInput input(nullptr);
  EXPECT_FALSE(input.PacksIn(weights));
  EXPECT_TRUE(input.PacksIn(weights));
  EXPECT_TRUE(input.PacksIn(weights));
  EXPECT_FALSE(input.PacksIn(weights, /*last_use=*/true));
  EXPECT_FALSE(input.PacksIn(others));
  EXPECT_TRUE(input.PacksIn(others)) << "the loop of another run";
  EXPECT_FALSE(input.PacksIn(weights));
  EXPECT_FALSE(input.PacksIn(weights));
  EXPECT_FALSE(input.PacksIn(weights)) << "weights that vary must come more often";
  EXPECT_TRUE(input.PacksIn(weights));
}

TEST(PackedWeightsTest, WhatARunPacksDoesNotDependOnTheRunsBefore) {
  WeightsInput input(nullptr);
  for (int run = 0; run < 5; ++run) {
    const Tensor weights = RandomTensor({8, 8}, run);
    input.BeginRun();
    EXPECT_FALSE(input.PacksIn(weights)) << "the runs before do not count";
    EXPECT_TRUE(input.PacksIn(weights));
    EXPECT_TRUE(input.PacksIn(weights));
  }
  const Tensor once_a_run = RandomTensor({8, 8}, 5);
  for (int run = 0; run < 5; ++run) {
    input.BeginRun();
    EXPECT_FALSE(input.PacksIn(once_a_run));
  }
}

TEST(PackedWeightsTest, RunsAtOnceUseWhatOneOfThemHasPacked) {
  const Tensor weights = RandomTensor({8, 8}, 1);
  WeightsInput input(nullptr);
  EXPECT_FALSE(input.PacksIn(weights));
  EXPECT_TRUE(input.PacksIn(weights));
  for (int turn = 0; turn < 4; ++turn) {
    input.BeginRun();
    EXPECT_TRUE(input.PacksIn(weights));
  }
}

TEST(PackedWeightsTest, OtherWeightsAtTheSameAddressAreNotTakenForThem) {
  WeightsInput input(nullptr);
  for (int run = 0; run < 50; ++run) input.PacksIn(RandomTensor({8, 8}, run));
}

TEST(PackedWeightsTest, StrictNumericsPackConstantsAlone) {
  const Tensor weights = RandomTensor({8, 8}, 1);
  WeightsInput varying(nullptr, Numerics::kStrict);
  for (int run = 0; run < 3; ++run) EXPECT_FALSE(varying.PacksIn(weights));
  EXPECT_TRUE(WeightsInput(&weights, Numerics::kStrict).PacksIn(weights));
}

}  // namespace
}  // namespace tessera
