// Datasets in a serialised form: they come back as they were, and damaged forms are refused.
#include "runtime/data/dataset_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernels/data/elements_dataset.h"
#include "runtime/tensor/encoded_variant.h"

namespace tessera {
namespace {

Tensor Encoded(const Tensor& dataset) {
  return Tensor::Scalar(Variant(
      std::const_pointer_cast<EncodedVariant>(DatasetIn(dataset, "dataset").value()->Encode())));
}

Tensor DatasetOf(ElementSpec spec, std::vector<Element> elements) {
  return DatasetTensor(std::make_shared<ElementsDataset>(std::move(spec), std::move(elements)));
}

Tensor Window(std::initializer_list<float> values) {
  std::vector<Element> elements;
  for (const float value : values) elements.push_back({Tensor::Scalar(value)});
  return DatasetOf({.dtypes = {DType::kFloat}, .shapes = {PartialShape({-1, 2})}},
                   std::move(elements));
}

TEST(DatasetEncodingTest, AWindowComesBackWithItsTypeAndItsElements) {
  Element element = {Tensor::Scalar<int64_t>(3), Encoded(Window({1.5F, 2.5F}))};

  ASSERT_TRUE(DecodeDatasets(&element).ok());

  EXPECT_EQ(element[0].scalar<int64_t>(), 3);
  const DatasetPtr window = DatasetIn(element[1], "window").value();
  EXPECT_EQ(window->spec().dtypes, std::vector<DType>{DType::kFloat});
  EXPECT_EQ(window->spec().shapes, std::vector<PartialShape>{PartialShape({-1, 2})});
  ASSERT_EQ(window->cardinality(), 2);
  StepContext step;
  EXPECT_EQ(window->ElementAt(step, 1).value()[0].scalar<float>(), 2.5F);
}

TEST(DatasetEncodingTest, AWindowOfWindowsComesBack) {
  const ElementSpec spec = {.dtypes = {DType::kVariant}, .shapes = {PartialShape(Shape())}};
  Element element = {Encoded(DatasetOf(spec, {{Encoded(Window({4}))}, {Encoded(Window({}))}}))};

  ASSERT_TRUE(DecodeDatasets(&element).ok());

  StepContext step;
  const DatasetPtr outer = DatasetIn(element[0], "outer").value();
  EXPECT_EQ(DatasetIn(outer->ElementAt(step, 0).value()[0], "first").value()->cardinality(), 1);
  EXPECT_EQ(DatasetIn(outer->ElementAt(step, 1).value()[0], "second").value()->cardinality(), 0);
}

TEST(DatasetEncodingTest, OtherVariantsStayAsTheyAre) {
  const auto other =
      std::make_shared<EncodedVariant>("tensorflow::TensorList", "x", std::vector<Tensor>());
  Element element = {Tensor::Scalar(Variant(other)), Tensor::Scalar(Variant())};

  ASSERT_TRUE(DecodeDatasets(&element).ok());

  EXPECT_EQ(element[0].scalar<Variant>().value(), other.get());
  EXPECT_FALSE(element[1].scalar<Variant>().has_value());
}

TEST(DatasetEncodingTest, DamagedFormsAreRefused) {
  const auto type = [](std::initializer_list<int64_t> numbers) {
    return Tensor::Vector<int64_t>(numbers);
  };
  const Tensor value = Tensor::Scalar(1.0F);
  const std::vector<std::vector<Tensor>> contents = {
      {},
      {value},
      {type({1}), value},           // no rank
      {type({0, 0}), value},        // no dtype
      {type({99, 0}), value},       // nor this
      {type({1, 2, 3}), value},     // a dimension is missing
      {type({1, 1, -2}), value},    // a dimension is none
      {type({1, -2}), value},       // nor is the rank
      {type({}), value},            // no component
      {type({3, 0}), value},        // another type
      {type({1, 0, 1, 0}), value},  // half an element
  };
  for (const std::vector<Tensor>& content : contents) {
    Element element = {Tensor::Scalar(
        Variant(std::make_shared<EncodedVariant>("tessera::ElementsDataset", "", content)))};
    EXPECT_TRUE(absl::IsDataLoss(DecodeDatasets(&element))) << content.size();
  }
}

}  // namespace
}  // namespace tessera
