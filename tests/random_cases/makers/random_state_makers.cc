// Sequences of draws from a generator whose state is a variable, and from one that each op owns.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

DType DrawFloatType(Random& random) {
  static const std::vector<DType> types = {DType::kFloat, DType::kDouble, DType::kHalf,
                                           DType::kBfloat16};
  return random.Pick(types);
}

DType DrawIntType(Random& random) {
  static const std::vector<DType> types = {DType::kInt32, DType::kInt64, DType::kUint32,
                                           DType::kUint64};
  return random.Pick(types);
}

// A shape as a tensor, and as few elements as tests need.
StepOutput Sizes(Sequence& sequence) {
  const Shape shape = RandomShape(sequence.random(), 2);
  const std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  if (sequence.random().Chance(0.5)) return sequence.Longs(dims);
  return sequence.Ints({dims.begin(), dims.end()});
}

// The steps on a variable that holds a generator's key and counter.
void MakeGenerator(Sequence& sequence) {
  Random& random = sequence.random();
  const bool is_philox = random.Chance(0.7);
  const int64_t algorithm = is_philox ? 1 : 2;
  const StepOutput generator = sequence.Step("VarHandleOp", {},
                                             {{"dtype", DType::kInt64},
                                              {"shape", PartialShape::UnknownOfRank(1)},
                                              {"shared_name", "generator"}})[0];
  std::vector<int64_t> state;
  for (int64_t i = 0; i < (is_philox ? 3 : 2); ++i) {
    state.push_back(random.Chance(0.8) ? static_cast<int64_t>(random.Bits()) : -random.Below(3));
  }
  sequence.Step("AssignVariableOp", {generator, sequence.Longs(state)});
  while (sequence.Continues()) {
    const StepOutput by = sequence.Long(algorithm);
    switch (random.Below(7)) {
      case 0:
        sequence.Step("RngSkip", {generator, by, sequence.Long(random.Between(-1000, 1000))});
        break;
      case 1: {
        const StepOutput delta = sequence.Given(Tensor::Scalar<uint64_t>(random.Below(2000)));
        const auto small = static_cast<int32_t>(algorithm);
        sequence.Step("RngReadAndSkip", {generator, sequence.Int(small), delta});
        break;
      }
      case 2: {
        const DType dtype = DrawIntType(random);
        const StepOutput low =
            sequence.Given(ConvertedTensor(random, Tensor::Scalar<int32_t>(1), dtype));
        const auto above = static_cast<int32_t>(random.Between(2, 100));
        const StepOutput high =
            sequence.Given(ConvertedTensor(random, Tensor::Scalar<int32_t>(above), dtype));
        sequence.Step("StatefulUniformInt", {generator, by, Sizes(sequence), low, high});
        break;
      }
      case 3:
        sequence.Step("StatefulUniformFullInt", {generator, by, Sizes(sequence)},
                      {{"dtype", DrawIntType(random)}});
        break;
      case 4: {
        static const std::vector<std::string> ops = {"StatefulUniform", "StatefulTruncatedNormal",
                                                     "StatefulStandardNormalV2"};
        sequence.Step(random.Pick(ops), {generator, by, Sizes(sequence)},
                      {{"dtype", DrawFloatType(random)}});
        break;
      }
      case 5: {
        if (!is_philox) break;
        // TensorFlow writes the new state into what else shares the memory of the variable, and not
        // into the variable. A skip has given the variable memory of its own.
        sequence.Step("RngSkip", {generator, by, sequence.Exactly(Tensor::Scalar<int64_t>(1))});
        const StepOutput counts = sequence.Given(Tensor::Scalar<float>(random.Between(1, 20)));
        const StepOutput share =
            sequence.Given(Tensor::Scalar<float>(0.1f * random.Between(0, 10)));
        sequence.Step("StatefulRandomBinomial", {generator, by, Sizes(sequence), counts, share},
                      {{"dtype", random.Chance(0.5) ? DType::kInt64 : DType::kFloat}});
        break;
      }
      default:
        sequence.Step("ReadVariableOp", {generator}, {{"dtype", DType::kInt64}});
    }
  }
  sequence.Step("ReadVariableOp", {generator}, {{"dtype", DType::kInt64}});
}

// Draws by seeds that the op is given as a key and a counter.
void MakeKeyed(Sequence& sequence) {
  Random& random = sequence.random();
  while (sequence.Continues()) {
    const DType seed_type = random.Chance(0.5) ? DType::kInt64 : DType::kInt32;
    const StepOutput seed = sequence.Given(ConvertedTensor(
        random, Tensor::Vector<int64_t>({random.Between(-9, 1000), random.Below(1000)}),
        seed_type));
    const std::vector<StepOutput> key =
        sequence.Step("StatelessRandomGetKeyCounter", {seed}, {{"Tseed", seed_type}});
    const StepOutput by = random.Chance(0.6)
                              ? sequence.Step("StatelessRandomGetAlg", {})[0]
                              : sequence.Int(static_cast<int32_t>(random.Between(1, 2)));
    switch (random.Below(4)) {
      case 0: {
        static const std::vector<std::string> ops = {
            "StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"};
        sequence.Step(random.Pick(ops), {Sizes(sequence), key[0], key[1], by},
                      {{"dtype", DrawFloatType(random)}});
        break;
      }
      case 1:
        sequence.Step("StatelessRandomUniformFullIntV2", {Sizes(sequence), key[0], key[1], by},
                      {{"dtype", DrawIntType(random)}});
        break;
      case 2: {
        const DType dtype = DrawIntType(random);
        const StepOutput low =
            sequence.Given(ConvertedTensor(random, Tensor::Scalar<int32_t>(3), dtype));
        const StepOutput high =
            sequence.Given(ConvertedTensor(random, Tensor::Scalar<int32_t>(90), dtype));
        sequence.Step("StatelessRandomUniformIntV2",
                      {Sizes(sequence), key[0], key[1], by, low, high});
        break;
      }
      default: {
        Shape shape = RandomShape(random, 1);
        shape.InsertDim(0, random.Below(6));
        sequence.Step("StatelessShuffle",
                      {sequence.Drawn(DrawType(random), shape), key[0], key[1], by});
      }
    }
  }
}

}  // namespace

std::vector<SequenceMaker> RandomStateMakers() { return {MakeGenerator, MakeKeyed}; }

}  // namespace tessera
