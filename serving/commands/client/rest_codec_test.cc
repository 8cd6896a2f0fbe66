#include <cmath>
#include <map>
#include <string>

#include "Eigen/Core"
#include "gtest/gtest.h"
#include "serving/commands/client/model_codec.h"

namespace tessera::serving {
namespace {

// Returns what ToString() prints of each output.
std::map<std::string, std::string> Decode(absl::string_view answer,
                                          const std::map<std::string, DType>& types) {
  RemoteSignature signature;
  for (const auto& [name, dtype] : types) signature.outputs[name].dtype = dtype;
  std::map<std::string, std::string> texts;
  const auto outputs = MakeRestCodec("localhost:1")->DecodePredict(answer, signature);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return texts;
  for (const auto& [name, tensor] : *outputs) texts[name] = tensor.ToString();
  return texts;
}

TEST(RestCodecTest, OutputsMayHaveTypesThatInputsCannotHave) {
  const std::map<std::string, std::string> outputs = Decode(
      R"({"outputs": {"b": [[0.5, NaN]], "f": [1], "h": [65504.0, -Infinity], "u": 65535}})",
      {{"b", DType::kBfloat16}, {"f", DType::kFloat}, {"h", DType::kHalf}, {"u", DType::kUint16}});
  const std::map<std::string, std::string> expected = {
      {"b", Tensor::Of<Eigen::bfloat16>({1, 2}, {Eigen::bfloat16(0.5f), Eigen::bfloat16(NAN)})
                .ToString()},
      {"f", Tensor::Vector<float>({1}).ToString()},
      {"h",
       Tensor::Vector<Eigen::half>({Eigen::half(65504.0f), Eigen::half(-INFINITY)}).ToString()},
      {"u", Tensor::Scalar<uint16_t>(65535).ToString()}};
  EXPECT_EQ(outputs, expected);
}

TEST(RestCodecTest, AnOnlyOutputHasNoName) {
  const std::map<std::string, std::string> expected = {{"y", "half[2] [0.5 -2]"}};
  EXPECT_EQ(Decode(R"({"outputs": [0.5, -2.0]})", {{"y", DType::kHalf}}), expected);
}

}  // namespace
}  // namespace tessera::serving
