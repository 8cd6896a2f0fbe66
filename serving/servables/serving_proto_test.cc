#include "serving/servables/serving_proto.h"

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

tensorflow::Example Int64(const std::string& name, int64_t value) {
  tensorflow::Example example;
  (*example.mutable_features()->mutable_feature())[name].mutable_int64_list()->add_value(value);
  return example;
}

TEST(ExamplesFromInputTest, ContextStandsInFrontOfEachExample) {
  tensorflow::serving::Input input;
  auto* examples = input.mutable_example_list_with_context();
  *examples->mutable_context() = Int64("c", 1);
  *examples->add_examples() = Int64("x", 2);
  examples->add_examples();
  const absl::StatusOr<Tensor> tensor = ExamplesFromInput(input);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  const std::string context = Int64("c", 1).SerializeAsString();
  EXPECT_THAT(tensor->flat<std::string>(),
              ElementsAre(context + Int64("x", 2).SerializeAsString(), context));
}

TEST(ExamplesFromInputTest, ContextThatIsRepeatedTooOftenIsRefused) {
  tensorflow::serving::Input input;
  auto* examples = input.mutable_example_list_with_context();
  auto& feature = (*examples->mutable_context()->mutable_features()->mutable_feature())["c"];
  feature.mutable_bytes_list()->add_value(std::string(1000, 'c'));
  for (int i = 0; i < 100; ++i) examples->add_examples();
  EXPECT_TRUE(ExamplesFromInput(input).ok());
  EXPECT_TRUE(ExamplesFromInput(input, 200'000).ok());
  const absl::StatusOr<Tensor> tensor = ExamplesFromInput(input, 100'000);
  EXPECT_EQ(tensor.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(tensor.status().message()), HasSubstr("100 examples with a context"));
}

// Errors may quote paths of any bytes, and readers reject a message with a string that is no UTF-8.
TEST(FillStatusTest, MessagesAreUtf8) {
  tensorflow::serving::StatusProto proto;
  FillStatus(absl::NotFoundError("no file /m\xff/1"), &proto);
  EXPECT_EQ(proto.error_message(), "no file /m\xef\xbf\xbd/1");
}

}  // namespace
}  // namespace tessera::serving
