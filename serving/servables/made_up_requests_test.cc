#include "serving/servables/made_up_requests.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SignatureInfo SignatureOf(DType dtype, PartialShape shape) {
  return {.inputs = {{"x", {.dtype = dtype, .shape = std::move(shape)}}},
          .outputs = {{"y", {.dtype = DType::kFloat}}},
          .is_pure = true};
}

std::vector<SampleRequest> MakeUpRequests(const SignatureMap& signatures,
                                          absl::Span<const int64_t> batch_sizes) {
  std::vector<SampleRequest> requests;
  ForEachMadeUpRequest(signatures, batch_sizes,
                       [&](const SampleRequest& request) { requests.push_back(request); });
  return requests;
}

TEST(MakeUpRequestsTest, UnknownDimensionsAreTheBatchSizeOrOne) {
  const auto requests = MakeUpRequests({{"s", SignatureOf(DType::kInt64, {-1, 3, -1})}}, {1, 4});
  ASSERT_EQ(requests.size(), 2);
  EXPECT_EQ(requests[0].signature_name, "s");
  EXPECT_THAT(requests[0].input_names, ElementsAre("x"));
  EXPECT_THAT(requests[0].output_filter, IsEmpty());
  EXPECT_EQ(requests[0].inputs[0].shape(), Shape({1, 3, 1}));
  EXPECT_EQ(requests[1].inputs[0].shape(), Shape({4, 3, 1}));
  EXPECT_EQ(requests[1].inputs[0].dtype(), DType::kInt64);
  EXPECT_EQ(requests[1].inputs[0].flat<int64_t>()[11], 0);
}

TEST(MakeUpRequestsTest, KnownDimensionsStay) {
  EXPECT_EQ(MakeUpRequests({{"s", SignatureOf(DType::kFloat, {2})}}, {4})[0].inputs[0].shape(),
            Shape({2}));
  EXPECT_EQ(MakeUpRequests({{"s", SignatureOf(DType::kString, PartialShape(Shape()))}}, {4})[0]
                .inputs[0]
                .ToString(),
            "string[] \"\"");
}

TEST(MakeUpRequestsTest, SmallBatchesComeFirstAndFixedOnesOnce) {
  const auto requests = MakeUpRequests(
      {{"a", SignatureOf(DType::kFloat, {-1})}, {"fixed", SignatureOf(DType::kFloat, {3, -1})}},
      {1, 2});
  ASSERT_EQ(requests.size(), 3);
  EXPECT_EQ(requests[0].inputs[0].shape(), Shape({1}));
  EXPECT_EQ(requests[1].inputs[0].shape(), Shape({3, 1}));
  EXPECT_EQ(requests[2].inputs[0].shape(), Shape({2}));
}

TEST(MakeUpRequestsTest, SignaturesOfOneComputationAreAskedOnce) {
  const auto computing = [](const std::string& computation) {
    SignatureInfo signature = SignatureOf(DType::kFloat, {-1});
    signature.computation = computation;
    return signature;
  };
  const auto requests = MakeUpRequests({{"other", computing("a -> c")},
                                        {"serve", computing("a -> b")},
                                        {"serving_default", computing("a -> b")},
                                        {"unknown", computing("")},
                                        {"unknown_too", computing("")}},
                                       {1, 2});
  std::vector<std::string> asked;
  for (const SampleRequest& request : requests) asked.push_back(request.signature_name);
  EXPECT_THAT(asked, ElementsAre("other", "serve", "unknown", "unknown_too",  // at the first size
                                 "other", "serve", "unknown", "unknown_too"));
}

TEST(MakeUpRequestsTest, BatchesOfALargeInputAreLeftOut) {
  // A row of 24 MiB.
  const auto requests =
      MakeUpRequests({{"s", SignatureOf(DType::kFloat, {-1, 6 << 20})}}, {1, 2, 4});
  ASSERT_EQ(requests.size(), 1);
  EXPECT_EQ(requests[0].inputs[0].dim(0), 1);
}

TEST(MakeUpRequestsTest, WhatCannotBeMadeUpIsLeftOut) {
  EXPECT_THAT(MakeUpRequests({{"rank", SignatureOf(DType::kFloat, PartialShape())},
                              {"large", SignatureOf(DType::kFloat, {-1, 100'000'000})},
                              {"type", SignatureOf(DType::kResource, {1})},
                              {"none", SignatureOf(DType::kInvalid, {1})}},
                             {1}),
              IsEmpty());
  SignatureInfo impure = SignatureOf(DType::kFloat, {1});
  impure.is_pure = false;
  EXPECT_THAT(MakeUpRequests({{"s", impure}}, {1}), IsEmpty());
}

}  // namespace
}  // namespace tessera::serving
