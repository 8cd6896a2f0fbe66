#include "runtime/kernels/primitives/cpu/product_planner.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

using Algorithm = ProductAlgorithm;

ConvolutionShape Square(int64_t batch, int64_t size, int64_t filter, int64_t in, int64_t out) {
  const int64_t pad = filter / 2;
  return {.batch = batch,
          .in_channels = in,
          .out_channels = out,
          .input = {size, size},
          .filter = {filter, filter},
          .output = {size, size},
          .strides = {1, 1},
          .dilations = {1, 1},
          .pad_before = {pad, pad},
          .pad_after = {pad, pad}};
}

class Planner {
 public:
  explicit Planner(const char* machine, int threads = 1, Numerics numerics = Numerics::kFast)
      : speeds_(*FindMachineSpeeds(machine)), threads_(threads), numerics_(numerics) {}

  // A product with constant weights.
  Algorithm MatMul(int64_t m, int64_t n, int64_t k) const {
    return PlanMatMul({.m = m, .n = n, .k = k, .has_constant_weights = true}, context());
  }
  Algorithm VaryingMatMul(int64_t m, int64_t n, int64_t k) const {
    return PlanMatMul({.m = m, .n = n, .k = k}, context());
  }
  Algorithm Convolution(const ConvolutionShape& shape,
                        Activation activation = Activation::kRelu) const {
    return PlanConvolution({.shape = shape, .activation = activation, .has_constant_filter = true},
                           context());
  }
  PlannerContext context() const { return {speeds_, threads_, numerics_}; }

 private:
  const MachineSpeeds speeds_;
  const int threads_;
  const Numerics numerics_;
};

constexpr const char* kMachines[] = {"intel-amx", "intel-avx512", "zen4", "zen5", "avx2"};
constexpr const char* kAvx512WithoutAmx[] = {"intel-avx512", "zen4", "zen5"};

TEST(MachineSpeedsTest, KnowsEachFamilyByName) {
  for (const char* const machine : kMachines) {
    const auto speeds = FindMachineSpeeds(machine);
    ASSERT_TRUE(speeds.has_value()) << machine;
    EXPECT_STREQ(speeds->name, machine);
    EXPECT_GT(speeds->fma_flops, speeds->depthwise_flops) << machine;
    EXPECT_EQ(speeds->has_amx, speeds->amx_flops > 0) << machine;
  }
  EXPECT_FALSE(FindMachineSpeeds("z80").has_value());
}

TEST(MachineSpeedsTest, ThisCpuIsOneThatCanRunItsAlgorithms) {
  EXPECT_LE(SpeedsForCpu().has_avx512, Avx512IsSupported());
  EXPECT_LE(SpeedsForCpu().has_amx, AmxIsSupported());
}

TEST(ProductPlannerTest, SmallProductsAndOtherTypesUseLoops) {
  for (const char* const machine : kMachines) {
    const Planner planner(machine);
    EXPECT_EQ(planner.MatMul(16, 16, 16), Algorithm::kLoops) << machine;
    EXPECT_EQ(planner.MatMul(16, 16, 0), Algorithm::kLoops) << machine;
    EXPECT_EQ(
        PlanMatMul({.dtype = DType::kDouble, .m = 128, .n = 768, .k = 768}, planner.context()),
        Algorithm::kLoops);
  }
}

TEST(ProductPlannerTest, ATextOfBertUsesTheBestMicroKernel) {
  EXPECT_EQ(Planner("intel-amx").MatMul(128, 768, 3072), Algorithm::kAmxGemm);
  for (const char* const machine : kAvx512WithoutAmx) {
    EXPECT_EQ(Planner(machine).MatMul(100, 768, 3072), Algorithm::kFmaGemm) << machine;
  }
  EXPECT_EQ(Planner("zen4").MatMul(128, 768, 3072), Algorithm::kStrassen)
      << "products take long there, compared with sums";
  EXPECT_EQ(Planner("zen5").MatMul(128, 768, 3072), Algorithm::kFmaGemm);
  EXPECT_EQ(Planner("zen4").MatMul(128, 1376, 512), Algorithm::kStrassen)
      << "the last panel is left over";
  for (const int64_t rows : {40, 128}) {
    EXPECT_EQ(Planner("avx2").MatMul(rows, 768, 3072), Algorithm::kOneDnn)
        << "oneDNN's pointwise convolutions are as fast there, and weights are packed in one form";
  }
}

TEST(ProductPlannerTest, StrassenNeedsRowsOrColumnsForEachThread) {
  for (const char* const machine : kAvx512WithoutAmx) {
    EXPECT_EQ(Planner(machine, 1).MatMul(1024, 3072, 768), Algorithm::kStrassen) << machine;
    EXPECT_EQ(Planner(machine, 5).MatMul(1024, 128, 768), Algorithm::kStrassen) << machine;
    EXPECT_EQ(Planner(machine, 16).MatMul(1024, 128, 768), Algorithm::kFmaGemm) << machine;
    EXPECT_EQ(Planner(machine, 3).MatMul(256, 768, 768), Algorithm::kStrassen) << machine;
    EXPECT_EQ(Planner(machine, 4).MatMul(256, 768, 768), Algorithm::kFmaGemm) << machine;
    EXPECT_EQ(Planner(machine, 1).MatMul(1024, 3072, 776), Algorithm::kFmaGemm)
        << "half of the depth is no whole number of vectors";
  }
  EXPECT_EQ(Planner("intel-amx").MatMul(1024, 3072, 768), Algorithm::kAmxGemm);
}

TEST(ProductPlannerTest, FewRowsReadTheMatrixInPlaceUnlessItIsPackedOrPackingPays) {
  for (const char* const machine : kMachines) {
    const MachineSpeeds speeds = *FindMachineSpeeds(machine);
    const bool packs = speeds.packed_gemv_bytes > speeds.gemv_bytes;
    const Algorithm in_place = speeds.has_avx512 ? Algorithm::kGemv : Algorithm::kOneDnn;
    EXPECT_EQ(Planner(machine).MatMul(1, 1000, 2048), packs ? Algorithm::kFmaGemm : in_place)
        << machine;
    EXPECT_EQ(Planner(machine).MatMul(1, 200, 300), Algorithm::kGemv)
        << machine << ": weights that stay in a cache";
    EXPECT_EQ(Planner(machine).VaryingMatMul(4, 1000, 2048), Algorithm::kGemv) << machine;
    EXPECT_EQ(Planner(machine).VaryingMatMul(5, 1000, 2048), Algorithm::kOneDnn) << machine;
  }
  EXPECT_EQ(Planner("zen5").MatMul(1, 1000, 2048), Algorithm::kFmaGemm);
  MachineSpeeds with_amx = *FindMachineSpeeds("intel-amx");
  with_amx.packed_gemv_bytes = 2 * with_amx.gemv_bytes;
  EXPECT_EQ(PlanMatMul({.m = 1, .n = 1000, .k = 2048, .has_constant_weights = true}, {with_amx}),
            Algorithm::kGemv)
      << "weights that are split for AMX take more memory";
  for (const char* const machine : {"zen4", "avx2"}) {
    EXPECT_EQ(
        PlanMatMul({.m = 1, .n = 1000, .k = 2048, .has_constant_weights = true, .has_panels = true},
                   Planner(machine).context()),
        Algorithm::kFmaGemm);
  }
  EXPECT_EQ(
      PlanMatMul({.m = 5, .n = 1000, .k = 2048, .has_constant_weights = true, .has_panels = true},
                 Planner("avx2").context()),
      Algorithm::kOneDnn);
}

TEST(ProductPlannerTest, PacksMatricesEarlyWhereAllProductsUseThem) {
  for (const char* const machine : kAvx512WithoutAmx) {
    const Planner strict(machine, 1, Numerics::kStrict);
    EXPECT_EQ(PlanMatMulWeights(768, 768, WeightUse::kOnceARun, strict.context()),
              Algorithm::kFmaGemm);
    const Planner fast(machine);
    const bool packs_rows =
        fast.context().speeds.packed_gemv_bytes > fast.context().speeds.gemv_bytes;
    EXPECT_EQ(PlanMatMulWeights(768, 768, WeightUse::kOnceARun, fast.context()),
              packs_rows ? Algorithm::kFmaGemm : Algorithm::kOneDnn)
        << machine;
    EXPECT_EQ(PlanMatMulWeights(200, 300, WeightUse::kOnceARun, fast.context()), Algorithm::kOneDnn)
        << machine << ": a single row is multiplied by weights that stay in a cache";
    EXPECT_EQ(PlanMatMulWeights(768, 768, WeightUse::kEachStep, fast.context()),
              Algorithm::kFmaGemm);
    EXPECT_EQ(PlanMatMulWeights(64, 16, WeightUse::kEachStep, fast.context()), Algorithm::kOneDnn);
  }
  EXPECT_EQ(PlanMatMulWeights(768, 768, WeightUse::kOnceARun, Planner("zen5").context()),
            Algorithm::kFmaGemm);
  EXPECT_EQ(PlanMatMulWeights(768, 768, WeightUse::kOnceARun,
                              Planner("avx2", 1, Numerics::kStrict).context()),
            Algorithm::kFmaGemm);
  const Planner avx2("avx2");
  EXPECT_EQ(PlanMatMulWeights(768, 768, WeightUse::kOnceARun, avx2.context()), Algorithm::kOneDnn);
  EXPECT_EQ(PlanMatMulWeights(768, 768, WeightUse::kEachStep, avx2.context()), Algorithm::kFmaGemm);
  // The same weights are packed in another way once there are enough rows.
  EXPECT_EQ(PlanMatMulWeights(768, 768, WeightUse::kEachStep, Planner("intel-amx").context()),
            Algorithm::kOneDnn);
}

TEST(ProductPlannerTest, GradientsOfWeightsUseTheTransposedAlgorithm) {
  const auto plan = [](const char* machine, int64_t m, int64_t n, int64_t k,
                       Numerics numerics = Numerics::kFast) {
    return PlanMatMul({.m = m, .n = n, .k = k, .is_single = false, .is_transposed = true},
                      Planner(machine, 1, numerics).context());
  };
  for (const char* const machine : kAvx512WithoutAmx) {
    EXPECT_EQ(plan(machine, 128, 512, 1600), Algorithm::kTransposed) << machine;
    EXPECT_EQ(plan(machine, 256, 1024, 1600), Algorithm::kOneDnn) << machine;
    EXPECT_EQ(plan(machine, 128, 512, 64), Algorithm::kOneDnn) << machine;
    EXPECT_EQ(plan(machine, 8, 512, 1600), Algorithm::kOneDnn) << machine;
    EXPECT_EQ(plan(machine, 128, 10, 1600), Algorithm::kOneDnn) << machine;
    EXPECT_EQ(plan(machine, 128, 512, 1600, Numerics::kStrict), Algorithm::kOrdered) << machine;
  }
  EXPECT_EQ(plan("avx2", 128, 512, 1600), Algorithm::kTransposed);
}

TEST(ProductPlannerTest, RowsAreTransposedWhereWeightsConflictInTheCacheOfAvx2) {
  const Planner planner("avx2");
  EXPECT_EQ(planner.VaryingMatMul(64, 512, 784), Algorithm::kTransposed);
  EXPECT_EQ(planner.VaryingMatMul(64, 1024, 256), Algorithm::kTransposed);
  EXPECT_EQ(planner.VaryingMatMul(64, 768, 784), Algorithm::kOneDnn);
  EXPECT_EQ(planner.VaryingMatMul(16, 512, 784), Algorithm::kOneDnn) << "few rows";
  EXPECT_EQ(planner.VaryingMatMul(2048, 1024, 256), Algorithm::kOneDnn)
      << "oneDNN copies the weights for many rows";
  EXPECT_EQ(PlanMatMul({.m = 64, .n = 512, .k = 784, .transpose_b = true}, planner.context()),
            Algorithm::kOneDnn);
  EXPECT_EQ(Planner("zen4").VaryingMatMul(64, 512, 784), Algorithm::kOneDnn);
}

TEST(ProductPlannerTest, OneDnnComputesColumnsWhereThatIsFaster) {
  const auto chunks = [](int64_t m, int64_t n, int64_t k, int threads = 1) {
    return PlanColumnChunks(m, n, k, /*transpose_b=*/false, Planner("zen4", threads).context());
  };
  EXPECT_EQ(chunks(64, 512, 784), 4) << "rows of the weights lie 2 KiB apart";
  EXPECT_EQ(chunks(64, 500, 784), 1);
  EXPECT_EQ(chunks(16, 1024, 256), 4);
  EXPECT_EQ(chunks(64, 1024, 256), 1) << "many rows pay for a copy of the weights";
  EXPECT_EQ(chunks(64, 3072, 512), 4) << "the weights are larger than the cache";
  EXPECT_EQ(chunks(128, 3072, 512), 1) << "many rows use what is read";
  EXPECT_EQ(chunks(64, 1536, 256), 1);
  EXPECT_EQ(chunks(1600, 512, 256), 1) << "the rows do not stay in the cache";
  EXPECT_EQ(chunks(64, 512, 64), 1) << "few terms";
  EXPECT_EQ(chunks(64, 192, 784, 2), 1) << "few columns";
  EXPECT_EQ(chunks(64, 512, 784, 8), 1) << "fewer chunks of columns than threads";
  EXPECT_EQ(chunks(64, 640, 784, 2), 4) << "each thread reads its part of the weights alone";
  EXPECT_EQ(chunks(6, 256, 128, 2), 1) << "too little for two threads";
  EXPECT_EQ(chunks(320, 384, 256, 2), 1) << "the rows are the larger operand";
  for (const char* const machine : kMachines) {
    if (FindMachineSpeeds(machine)->cuts_columns) continue;
    for (const bool transpose_b : {false, true}) {
      EXPECT_EQ(PlanColumnChunks(64, 512, 784, transpose_b, Planner(machine, 2).context()), 1)
          << machine;
    }
  }
}

TEST(ProductPlannerTest, ThreadsShareTheCopyOfTransposedWeights) {
  const auto chunks = [](int64_t m, int64_t n, int64_t k, int threads) {
    return PlanColumnChunks(m, n, k, /*transpose_b=*/true, Planner("zen4", threads).context());
  };
  EXPECT_EQ(chunks(64, 512, 512, 1), 1);
  EXPECT_EQ(chunks(64, 512, 512, 2), 2);
  EXPECT_EQ(chunks(64, 1024, 512, 2), 4);
  EXPECT_EQ(chunks(320, 384, 256, 2), 1) << "the rows are the larger operand";
}

TEST(ProductPlannerTest, BatchesAndVaryingWeightsUseOneDnn) {
  for (const char* const machine : kMachines) {
    EXPECT_EQ(Planner(machine).VaryingMatMul(128, 768, 768), Algorithm::kOneDnn) << machine;
    EXPECT_EQ(PlanMatMul({.m = 128, .n = 64, .k = 128, .batch = 12, .is_single = false},
                         Planner(machine).context()),
              Algorithm::kOneDnn);
  }
}

TEST(ProductPlannerTest, APointwiseConvolutionIsAMatrixProduct) {
  for (const char* const machine : kAvx512WithoutAmx) {
    EXPECT_EQ(Planner(machine).Convolution(Square(8, 14, 1, 1024, 256)), Algorithm::kStrassen);
    EXPECT_EQ(Planner(machine, 16).Convolution(Square(8, 14, 1, 1024, 256)), Algorithm::kFmaGemm);
    EXPECT_EQ(Planner(machine).Convolution(Square(1, 7, 1, 512, 2048)), Algorithm::kFmaGemm);
  }
  EXPECT_EQ(Planner("avx2").Convolution(Square(1, 14, 1, 1024, 256)), Algorithm::kOneDnn);
  EXPECT_EQ(Planner("avx2").Convolution(Square(1, 7, 1, 512, 2048)), Algorithm::kFmaGemm)
      << "few rows wait for their weights";
  EXPECT_EQ(Planner("zen5", 1, Numerics::kStrict).Convolution(Square(8, 14, 1, 1024, 256)),
            Algorithm::kFmaGemm);
}

TEST(ProductPlannerTest, APointwiseConvolutionOfFewPointsIsASkinnyProduct) {
  ConvolutionShape grouped = Square(1, 1, 1, 64, 64);
  grouped.groups = 4;
  for (const char* const machine : kMachines) {
    const Planner planner(machine);
    if (!FindMachineSpeeds(machine)->has_avx512) {
      EXPECT_EQ(planner.Convolution(Square(1, 1, 1, 1152, 48)), Algorithm::kOneDnn);
      continue;
    }
    EXPECT_EQ(planner.Convolution(Square(1, 1, 1, 1152, 48), Activation::kSwish), Algorithm::kGemv);
    EXPECT_EQ(planner.Convolution(Square(4, 1, 1, 4, 96)), Algorithm::kGemv);
    EXPECT_NE(planner.Convolution(Square(5, 1, 1, 4, 96)), Algorithm::kGemv);
    EXPECT_NE(planner.Convolution(grouped), Algorithm::kGemv);
    EXPECT_NE(planner.Convolution(Square(1, 2, 3, 64, 64)), Algorithm::kGemv);
    EXPECT_EQ(PlanConvolution({.shape = Square(1, 1, 1, 64, 64)}, planner.context()),
              Algorithm::kGemv);
    EXPECT_NE(Planner(machine, 1, Numerics::kStrict).Convolution(Square(1, 1, 1, 64, 64)),
              Algorithm::kGemv);
  }
}

TEST(ProductPlannerTest, DepthwiseConvolutionsHaveLoopsOfTheirOwn) {
  ConvolutionShape depthwise = Square(1, 28, 5, 96, 96);
  depthwise.groups = 96;
  for (const char* const machine : kMachines) {
    for (const Numerics numerics : {Numerics::kFast, Numerics::kStrict}) {
      const Planner planner(machine, 1, numerics);
      EXPECT_EQ(planner.Convolution(depthwise), Algorithm::kDepthwise);
      ConvolutionShape other = depthwise;
      other.out_channels *= 2;
      EXPECT_EQ(planner.Convolution(other), Algorithm::kOneDnn) << "two outputs for each channel";
      other = depthwise;
      other.dilations = {2, 2};
      EXPECT_EQ(planner.Convolution(other), Algorithm::kOneDnn);
      other = depthwise;
      other.filter = {5, 7};
      EXPECT_EQ(planner.Convolution(other), Algorithm::kOneDnn);
      other = depthwise;
      other.channels_first = true;
      EXPECT_EQ(planner.Convolution(other), Algorithm::kOneDnn);
    }
  }
}

TEST(ProductPlannerTest, WithAvx2SomeDepthwiseConvolutionsUseOneDnn) {
  const auto plan = [](const char* machine, int64_t size, int64_t channels, int64_t stride,
                       Numerics numerics = Numerics::kFast) {
    ConvolutionShape s = Square(8, size, 3, channels, channels);
    s.groups = channels;
    s.strides = {stride, stride};
    return Planner(machine, 1, numerics).Convolution(s);
  };
  EXPECT_EQ(plan("avx2", 14, 512, 1), Algorithm::kOneDnn) << "points share sets of the cache";
  EXPECT_EQ(plan("avx2", 14, 528, 1), Algorithm::kDepthwise);
  EXPECT_EQ(plan("avx2", 14, 532, 1), Algorithm::kOneDnn) << "the last vector is partial";
  EXPECT_EQ(plan("avx2", 56, 144, 1), Algorithm::kDepthwise);
  EXPECT_EQ(plan("avx2", 56, 144, 2), Algorithm::kOneDnn) << "the image exceeds the cache";
  EXPECT_EQ(plan("avx2", 56, 144, 2, Numerics::kStrict), Algorithm::kDepthwise)
      << "oneDNN's sums depend on the number of threads";
  EXPECT_EQ(plan("avx2", 14, 192, 2), Algorithm::kDepthwise);
  EXPECT_EQ(plan("zen4", 14, 512, 2), Algorithm::kDepthwise);
}

TEST(ProductPlannerTest, WithAvx2GroupsOfFourChannelsTakeTheDepthwiseLoops) {
  ConvolutionShape grouped = Square(1, 56, 3, 128, 128);
  grouped.groups = 32;
  ConvolutionShape wide = grouped;
  wide.groups = 16;
  for (const char* const machine : kMachines) {
    const bool has_avx512 = FindMachineSpeeds(machine)->has_avx512;
    for (const Numerics numerics : {Numerics::kFast, Numerics::kStrict}) {
      const Planner planner(machine, 1, numerics);
      EXPECT_EQ(planner.Convolution(grouped),
                has_avx512 ? Algorithm::kOneDnn : Algorithm::kDepthwise);
      EXPECT_EQ(planner.Convolution(wide), Algorithm::kOneDnn);
    }
  }
}

TEST(ProductPlannerTest, WithAvx2ConvolutionsOfManyChannelsPackTheirRows) {
  const auto plan = [](const char* machine, int64_t channels, int64_t filter) {
    ConvolutionShape s = Square(4, 28, filter, channels, channels);
    s.strides = {2, 2};
    s.output = {14, 14};
    return Planner(machine).Convolution(s);
  };
  EXPECT_EQ(plan("avx2", 128, 3), Algorithm::kFmaGemm);
  EXPECT_EQ(plan("avx2", 80, 5), Algorithm::kFmaGemm);
  EXPECT_EQ(plan("avx2", 64, 5), Algorithm::kOneDnn);
  EXPECT_EQ(plan("avx2", 128, 1), Algorithm::kOneDnn);
}

TEST(ProductPlannerTest, WinogradComputesTheConvolutionsOfResNet) {
  for (const char* const machine : kAvx512WithoutAmx) {
    const Planner planner(machine);
    EXPECT_EQ(planner.Convolution(Square(1, 56, 3, 64, 64)), Algorithm::kWinograd4) << machine;
    EXPECT_EQ(planner.Convolution(Square(8, 28, 3, 128, 128)), Algorithm::kWinograd4) << machine;
    EXPECT_EQ(planner.Convolution(Square(32, 7, 3, 512, 512)), Algorithm::kWinograd4) << machine;
    EXPECT_EQ(planner.Convolution(Square(1, 56, 3, 64, 64), Activation::kTanh), Algorithm::kOneDnn);
  }
  // Reading the transformed filter takes long, but on Zen 4 multiplications take even longer.
  const ConvolutionShape last = Square(1, 7, 3, 512, 512);
  EXPECT_EQ(Planner("intel-avx512").Convolution(last), Algorithm::kFmaGemm);
  EXPECT_EQ(Planner("zen4").Convolution(last), Algorithm::kWinograd2);
  // A little time is not worth twice the memory.
  EXPECT_EQ(Planner("zen5").Convolution(last), Algorithm::kWinograd2);
  EXPECT_EQ(Planner("zen5").Convolution(Square(1, 14, 3, 256, 256)), Algorithm::kWinograd2);
  EXPECT_EQ(Planner("avx2").Convolution(Square(1, 56, 3, 64, 64)), Algorithm::kWinograd4);
  EXPECT_EQ(Planner("avx2").Convolution(last), Algorithm::kWinograd2);
  EXPECT_EQ(Planner("intel-amx").Convolution(Square(8, 28, 3, 128, 128)), Algorithm::kAmxGemm);
}

TEST(ProductPlannerTest, WinogradComputesDilatedConvolutionsWhoseTilesAreFilled) {
  const auto plan = [](const char* machine, int64_t dilation) {
    ConvolutionShape s = Square(1, 65, 3, 64, 64);
    s.dilations = s.pad_before = s.pad_after = {dilation, dilation};
    return Planner(machine).Convolution(s);
  };
  for (const char* const machine : kMachines) {
    if (FindMachineSpeeds(machine)->has_amx) continue;
    EXPECT_EQ(plan(machine, 2), Algorithm::kWinograd4) << machine;
    EXPECT_NE(plan(machine, 60), Algorithm::kWinograd4) << machine;
  }
}

TEST(ProductPlannerTest, FasterMultiplicationLeavesLessToWinograd) {
  MachineSpeeds speeds = *FindMachineSpeeds("zen4");
  const ConvolutionShape shape = Square(1, 14, 3, 256, 256);
  const auto plan = [&] {
    return PlanConvolution({.shape = shape, .has_constant_filter = true}, {speeds});
  };
  EXPECT_NE(plan(), Algorithm::kFmaGemm);
  speeds.fma_flops *= 20;
  EXPECT_EQ(plan(), Algorithm::kFmaGemm);
}

TEST(ProductPlannerTest, ChannelsFirstGroupsAndVaryingFiltersUseOneDnn) {
  ConvolutionShape channels_first = Square(8, 28, 3, 128, 128);
  channels_first.channels_first = true;
  ConvolutionShape grouped = Square(8, 28, 3, 128, 128);
  grouped.groups = 4;
  for (const char* const machine : kMachines) {
    EXPECT_EQ(Planner(machine).Convolution(channels_first), Algorithm::kOneDnn) << machine;
    EXPECT_EQ(Planner(machine).Convolution(grouped), Algorithm::kOneDnn) << machine;
    EXPECT_EQ(PlanConvolution({.shape = Square(8, 28, 3, 128, 128)}, Planner(machine).context()),
              Algorithm::kOneDnn);
  }
}

TEST(ProductPlannerTest, StrictChoicesDoNotDependOnTheNumberOfRowsOrThreads) {
  for (const char* const machine : kMachines) {
    const Algorithm matmul = Planner(machine, 1, Numerics::kStrict).MatMul(1, 3072, 768);
    const Algorithm varying = Planner(machine, 1, Numerics::kStrict).VaryingMatMul(1, 3072, 768);
    const Algorithm convolution =
        Planner(machine, 1, Numerics::kStrict).Convolution(Square(1, 28, 3, 128, 128));
    for (const int threads : {1, 2, 16}) {
      const Planner planner(machine, threads, Numerics::kStrict);
      for (const int64_t m : {1, 3, 17, 128, 4096}) {
        EXPECT_EQ(planner.MatMul(m, 3072, 768), matmul) << machine;
        EXPECT_EQ(planner.VaryingMatMul(m, 3072, 768), varying) << machine;
        EXPECT_EQ(planner.Convolution(Square(m, 28, 3, 128, 128)), convolution) << machine;
      }
    }
  }
}

}  // namespace
}  // namespace tessera
