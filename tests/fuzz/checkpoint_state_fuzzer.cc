// Any bytes as the file `checkpoint` of a training job's folder.
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/logging.h"
#include "runtime/checkpoint/checkpoint_state.h"

namespace {

void CheckName(const std::string& name) {
  CHECK(!name.empty() && name.find('/') == name.npos) << name;
  const auto step = tessera::StepOfCheckpoint(name);
  CHECK(!step.has_value() || *step >= 0) << name;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto state = tessera::ParseCheckpointState(text);
  if (!state.ok()) return 0;
  CheckName(state->latest);
  for (const std::string& name : state->all) CheckName(name);
  return 0;
}
