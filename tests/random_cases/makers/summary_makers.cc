// Summaries, and writers of event files.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

DType DrawRealType(Random& random) {
  static const std::vector<DType> types = {
      DType::kFloat,  DType::kFloat,  DType::kDouble,  DType::kInt32, DType::kUint8,
      DType::kInt16,  DType::kInt8,   DType::kUint16,  DType::kInt64, DType::kHalf,
      DType::kUint32, DType::kUint64, DType::kBfloat16};
  return random.Pick(types);
}

// TensorFlow's writers take no bfloat16.
DType DrawWrittenType(Random& random) {
  const DType type = DrawRealType(random);
  return type == DType::kBfloat16 ? DType::kFloat : type;
}

DType DrawPixelType(Random& random) {
  static const std::vector<DType> types = {DType::kUint8, DType::kFloat, DType::kHalf,
                                           DType::kDouble};
  return random.Pick(types);
}

Tensor DrawTag(Random& random) {
  return Tensor::Scalar(absl::StrCat("tag", random.Below(200), random.Chance(0.3) ? "/a" : ""));
}

Tensor DrawImages(Random& random, DType dtype) {
  static const std::vector<int64_t> channels = {1, 3, 4};
  const Shape shape = {random.Between(1, 4), random.Between(1, 5), random.Between(1, 5),
                       random.Pick(channels)};
  ElementChoice choice;
  choice.bounded = true;
  choice.low = dtype == DType::kUint8 ? 0 : random.Between(-2, 0);
  choice.high = dtype == DType::kUint8 ? 255 : random.Between(0, 300);
  return RandomTensor(random, dtype, shape, choice);
}

Tensor DrawSound(Random& random) {
  ElementChoice choice;
  choice.bounded = true;
  choice.low = -1;
  choice.high = 1;
  Shape shape = {random.Between(1, 4), random.Between(1, 9)};
  if (random.Chance(0.6)) shape.AddDim(random.Between(1, 3));
  return RandomTensor(random, DType::kFloat, shape, choice);
}

// Metadata of a summary, as the bytes of a SummaryMetadata with a plugin's name, or none.
Tensor DrawMetadata(Random& random) {
  return Tensor::Scalar(random.Chance(0.5) ? std::string() : std::string("\x0a\x03\x0a\x01p"));
}

// Merges some of the summaries. The same tag twice is refused.
void Merge(Sequence& sequence, const std::vector<StepOutput>& summaries) {
  Random& random = sequence.random();
  std::vector<StepOutput> some;
  for (const StepOutput& summary : summaries) {
    if (random.Chance(0.5)) some.push_back(summary);
  }
  if (some.empty()) some.push_back(summaries[0]);
  sequence.Step("MergeSummary", some);
}

void MakeSummaries(Sequence& sequence) {
  Random& random = sequence.random();
  std::vector<StepOutput> summaries;
  while (sequence.Continues()) {
    const StepOutput tag = sequence.Given(DrawTag(random));
    switch (random.Below(7)) {
      case 0:
      case 1: {
        // A tag for each value.
        const Shape shape = RandomShape(random, 2);
        std::vector<std::string> tags;
        for (int64_t i = 0; i < shape.num_elements(); ++i)
          tags.push_back(absl::StrCat("part", summaries.size(), "_", i));
        summaries.push_back(
            sequence.Step("ScalarSummary",
                          {sequence.Given(Tensor::Of(shape, absl::Span<const std::string>(tags))),
                           sequence.Drawn(DrawRealType(random), shape)})[0]);
        break;
      }
      case 2:
        summaries.push_back(
            sequence.Step("HistogramSummary",
                          {tag, sequence.Drawn(DrawRealType(random), RandomShape(random, 2))})[0]);
        break;
      case 3:
        summaries.push_back(sequence.Step(
            "ImageSummary", {tag, sequence.Given(DrawImages(random, DrawPixelType(random)))},
            {{"max_images", random.Between(1, 4)}})[0]);
        break;
      case 4: {
        const auto rate = static_cast<float>(random.Between(1, 48000));
        summaries.push_back(sequence.Step(
            "AudioSummaryV2",
            {tag, sequence.Given(DrawSound(random)), sequence.Given(Tensor::Scalar(rate))},
            {{"max_outputs", random.Between(1, 4)}})[0]);
        break;
      }
      case 5: {
        const StepOutput value = sequence.Drawn(DrawType(random), RandomShape(random, 2));
        if (random.Chance(0.5)) {
          sequence.Step("TensorSummary", {value}, {{"description", std::string("text")}});
        } else {
          summaries.push_back(sequence.Step("TensorSummaryV2",
                                            {tag, value, sequence.Given(DrawMetadata(random))})[0]);
        }
        break;
      }
      default:
        if (!summaries.empty()) Merge(sequence, summaries);
    }
  }
}

// Writes events into files. What is in these falls as the time of day; the steps only have to
// succeed, or to fail, alike.
void MakeWriter(Sequence& sequence) {
  Random& random = sequence.random();
  const StepOutput writer = sequence.Unseen("SummaryWriter", {}, {{"shared_name", "writer"}})[0];
  sequence.Step("CreateSummaryFileWriter",
                {writer, sequence.Exactly(Tensor::Scalar("logs")), sequence.Int(10),
                 sequence.Int(1000), sequence.Exactly(Tensor::Scalar(".test"))});
  while (sequence.Continues()) {
    const StepOutput step = sequence.Long(random.Below(100));
    const StepOutput tag = sequence.Given(DrawTag(random));
    switch (random.Below(8)) {
      case 0:
        sequence.Step("WriteScalarSummary",
                      {writer, step, tag, sequence.Drawn(DrawWrittenType(random), Shape())});
        break;
      case 1:
        sequence.Step(
            "WriteHistogramSummary",
            {writer, step, tag, sequence.Drawn(DrawWrittenType(random), RandomShape(random, 2))});
        break;
      case 2: {
        const StepOutput color = sequence.Given(Tensor::Vector<uint8_t>({255, 0, 0, 255}));
        sequence.Step(
            "WriteImageSummary",
            {writer, step, tag, sequence.Given(DrawImages(random, DrawPixelType(random))), color},
            {{"max_images", random.Between(1, 4)}});
        break;
      }
      case 3: {
        const auto rate = static_cast<float>(random.Between(1, 48000));
        sequence.Step("WriteAudioSummary",
                      {writer, step, tag, sequence.Given(DrawSound(random)),
                       sequence.Given(Tensor::Scalar(rate))},
                      {{"max_outputs", random.Between(1, 4)}});
        break;
      }
      case 4:
        sequence.Step("WriteSummary",
                      {writer, step, sequence.Drawn(DrawType(random), RandomShape(random, 2)), tag,
                       sequence.Given(DrawMetadata(random))});
        break;
      case 5: {
        const StepOutput summary =
            sequence.Step("ScalarSummary", {tag, sequence.Drawn(DType::kFloat, Shape())})[0];
        sequence.Step("WriteRawProtoSummary", {writer, step, summary});
        break;
      }
      case 6:
        sequence.Step("FlushSummaryWriter", {writer});
        break;
      default: {
        // A GraphDef that has a version alone.
        const StepOutput graph = sequence.Exactly(Tensor::Scalar("\x22\x03\x08\xaa\x13"));
        sequence.Step("WriteGraphSummary", {writer, step, graph});
      }
    }
  }
  sequence.Step("FlushSummaryWriter", {writer});
  sequence.Step("CloseSummaryWriter", {writer});
}

}  // namespace

std::vector<SequenceMaker> SummaryMakers() { return {MakeSummaries, MakeSummaries, MakeWriter}; }

}  // namespace tessera
