#include "serving/commands/output_text.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/json/json_response.h"

namespace tessera::serving {

absl::Status PrintOutputs(absl::Span<const NamedOutput> outputs, bool as_json) {
  std::string text;
  if (as_json) {
    RETURN_IF_ERROR(AppendPredictResponse(PredictLayout::kColumnar, outputs, &text));
    text += '\n';
  } else {
    constexpr int kMaxElements = 1000;
    for (const NamedOutput& output : outputs) {
      absl::StrAppend(&text, output.name, ": ", output.tensor.ToString(kMaxElements), "\n");
    }
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return absl::OkStatus();
}

}  // namespace tessera::serving
