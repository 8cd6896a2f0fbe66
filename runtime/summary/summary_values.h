// The values of summaries, as TensorBoard's plugins read them from event files.
//
//   tensorflow::Event event;
//   AddScalar("loss", 0.25f, event.mutable_summary());
//   RETURN_IF_ERROR(writer->Write(event));
//
// Each function adds one value to *summary.
#pragma once

#include <map>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace tensorflow {
class Summary;
}  // namespace tensorflow

namespace tessera {

void AddScalar(absl::string_view tag, float value, tensorflow::Summary* summary);

// Values that are no finite numbers are left out: a histogram has no bucket for them.
void AddHistogram(absl::string_view tag, absl::Span<const float> values,
                  tensorflow::Summary* summary);

// A text in Markdown.
void AddText(absl::string_view tag, absl::string_view text, tensorflow::Summary* summary);

// `encoded` is a PNG, JPEG or GIF file with 1, 3 or 4 channels.
void AddImage(absl::string_view tag, std::string encoded, int height, int width, int channels,
              tensorflow::Summary* summary);

// The hyperparameters of a run, which the tab "HPARAMS" compares with those of other runs. `name`
// groups runs that repeat each other; runs with one name differ in nothing that matters.
using HyperParameter = std::variant<bool, double, std::string>;
void AddHyperParameters(const std::map<std::string, HyperParameter>& values, absl::string_view name,
                        absl::Time start, tensorflow::Summary* summary);

// The end of the run whose hyperparameters were added before.
void AddRunEnd(bool is_success, absl::Time end, tensorflow::Summary* summary);

}  // namespace tessera
