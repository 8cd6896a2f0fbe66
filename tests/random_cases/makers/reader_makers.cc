// Sequences of ops on readers, which take the names of their work from a queue.
#include "absl/strings/str_cat.h"
#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

// A reader whose records are the names themselves: there are no files.
void MakeReader(Sequence& sequence) {
  Random& random = sequence.random();
  const std::string version = random.Chance(0.4) ? "" : "V2";
  const StepOutput reader = sequence.Step("IdentityReader" + version, {})[0];
  const StepOutput queue =
      sequence.Step("FIFOQueue" + version, {},
                    {{"component_types", std::vector<DType>{DType::kString}},
                     {"shapes", std::vector<PartialShape>{PartialShape(Shape())}}})[0];
  int64_t held = 0;
  StepOutput state;
  while (sequence.Continues()) {
    const int64_t way = random.Below(10);
    if (way < 3) {
      const int64_t rows = random.Below(4);
      sequence.Step("QueueEnqueueMany" + version,
                    {queue, sequence.Given(sequence.Draw(DType::kString, Shape{rows}))});
      held += rows;
    } else if (way < 5 && held > 0) {
      sequence.Step("ReaderRead" + version, {reader, queue});
      --held;
    } else if (way == 5 && held > 0) {
      const int64_t count = random.Between(1, held);
      sequence.Step("ReaderReadUpTo" + version,
                    {reader, queue, sequence.Exactly(Tensor::Scalar<int64_t>(count))});
      held -= count;
    } else if (way == 6) {
      state = sequence.Step("ReaderSerializeState" + version, {reader})[0];
    } else if (way == 7 && !state.name.empty()) {
      sequence.Step("ReaderRestoreState" + version, {reader, state});
    } else if (way == 8 && random.Chance(0.3)) {
      sequence.Step("ReaderReset" + version, {reader});
    } else if (way == 9 && random.Chance(0.05)) {
      const StepOutput wrong = sequence.Given(sequence.Draw(DType::kString, Shape()));
      sequence.Step("ReaderRestoreState" + version, {reader, wrong});
    }
    sequence.Step("ReaderNumRecordsProduced" + version, {reader});
  }
  sequence.Step("ReaderNumWorkUnitsCompleted" + version, {reader});
  sequence.Step("QueueSize" + version, {queue});
}

}  // namespace

std::vector<SequenceMaker> ReaderMakers() { return {MakeReader}; }

}  // namespace tessera
