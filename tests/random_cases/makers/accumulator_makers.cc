// Sequences of ops on accumulators of gradients, and on the maps that hold sparse tensors.
#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

DType DrawNumber(Random& random) {
  static const std::vector<DType> types = {DType::kFloat, DType::kFloat, DType::kDouble,
                                           DType::kHalf};
  return random.Pick(types);
}

PartialShape Said(Random& random, const Shape& shape) {
  PartialShape said(shape);
  if (random.Chance(0.15)) return PartialShape();
  for (int i = 0; i < said.rank(); ++i) {
    if (random.Chance(0.2)) said.set_dim(i, -1);
  }
  return said;
}

void MakeAccumulator(Sequence& sequence) {
  Random& random = sequence.random();
  const DType dtype = DrawNumber(random);
  const Shape shape = RandomShape(random, 2);
  const std::string prefix = random.Chance(0.5) ? "Resource" : "";
  const StepOutput accumulator =
      sequence.Step(prefix + "ConditionalAccumulator", {},
                    {{"dtype", dtype},
                     {"shape", Said(random, shape)},
                     {"reduction_type", random.Chance(0.6) ? "MEAN" : "SUM"}})[0];
  const std::string op = prefix + "Accumulator";
  int64_t step = 0, accumulated = 0;
  while (sequence.Continues()) {
    const int64_t way = random.Below(8);
    if (way < 4) {
      // A gradient of an earlier step is dropped.
      const int64_t local = std::max<int64_t>(step + random.Between(-1, 1), 0);
      sequence.Step(op + "ApplyGradient",
                    {accumulator, sequence.Exactly(Tensor::Scalar<int64_t>(local)),
                     sequence.Drawn(dtype, shape)});
      if (local >= step) ++accumulated;
    } else if (way < 6 && accumulated > 0) {
      const auto required = static_cast<int32_t>(random.Between(1, accumulated));
      sequence.Step(op + "TakeGradient",
                    {accumulator, sequence.Exactly(Tensor::Scalar<int32_t>(required))},
                    {{"dtype", dtype}});
      accumulated = 0;
      ++step;
    } else if (way == 6) {
      step += random.Below(3);
      sequence.Step(op + "SetGlobalStep",
                    {accumulator, sequence.Exactly(Tensor::Scalar<int64_t>(step))});
    }
    sequence.Step(op + "NumAccumulated", {accumulator});
  }
}

// Rows of a sparse gradient, each once, in order.
std::vector<int64_t> DrawRows(Random& random, int64_t most) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < most; ++row) {
    if (random.Chance(0.5)) rows.push_back(row);
  }
  return rows;
}

void MakeSparseAccumulator(Sequence& sequence) {
  Random& random = sequence.random();
  const DType dtype = DrawNumber(random);
  Shape row = RandomShape(random, 1);
  const int64_t num_rows = random.Between(1, 5);
  Shape whole = row;
  whole.InsertDim(0, num_rows);
  const StepOutput accumulator =
      sequence.Step("SparseConditionalAccumulator", {},
                    {{"dtype", dtype},
                     {"shape", Said(random, whole)},
                     {"reduction_type", random.Chance(0.6) ? "MEAN" : "SUM"}})[0];
  int64_t accumulated = 0, step = 0;
  while (sequence.Continues()) {
    const int64_t way = random.Below(8);
    if (way < 5) {
      const std::vector<int64_t> rows = DrawRows(random, num_rows);
      Shape values = row;
      values.InsertDim(0, static_cast<int64_t>(rows.size()));
      const bool known = random.Chance(0.6);
      const std::vector<int64_t> dims(whole.dims().begin(), whole.dims().end());
      sequence.Step(
          "SparseAccumulatorApplyGradient",
          {accumulator, sequence.Exactly(Tensor::Scalar<int64_t>(step)), sequence.Longs(rows),
           sequence.Drawn(dtype, values), sequence.Longs(known ? dims : std::vector<int64_t>())},
          {{"has_known_shape", known}});
      ++accumulated;
    } else if (accumulated > 0) {
      const auto required = static_cast<int32_t>(random.Between(1, accumulated));
      sequence.Step("SparseAccumulatorTakeGradient",
                    {accumulator, sequence.Exactly(Tensor::Scalar<int32_t>(required))},
                    {{"dtype", dtype}});
      accumulated = 0;
      ++step;
    }
    sequence.Step("AccumulatorNumAccumulated", {accumulator});
  }
}

}  // namespace

std::vector<SequenceMaker> AccumulatorMakers() { return {MakeAccumulator, MakeSparseAccumulator}; }

}  // namespace tessera
