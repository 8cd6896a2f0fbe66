#include "serving/servables/sample_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "serving/batching/batch_assembly.h"

namespace tessera::serving {
namespace {

bool HasRows(const SampleRequest& request) {
  return !request.inputs.empty() &&
         std::all_of(request.inputs.begin(), request.inputs.end(), [&](const Tensor& input) {
           return input.rank() > 0 && input.num_elements() > 0 &&
                  input.dim(0) == request.inputs[0].dim(0);
         });
}

int64_t BytesAt(const SampleRequest& request, int64_t rows) {
  size_t bytes = 0;
  for (const Tensor& input : request.inputs) bytes += input.total_bytes();
  return static_cast<int64_t>(bytes) / request.inputs[0].dim(0) * rows;
}

// Returns whether two samples differ only in their numbers of rows. Requires HasRows() of both.
bool AreAlike(const SampleRequest& a, const SampleRequest& b) {
  return a.signature_name == b.signature_name && a.output_filter == b.output_filter &&
         a.input_names == b.input_names && CanMerge(a.inputs, b.inputs, RowPadding::kNone);
}

}  // namespace

void ForEachAtRows(absl::Span<const SampleRequest> samples, absl::Span<const int64_t> rows,
                   int64_t max_bytes, absl::FunctionRef<void(const SampleRequest&)> visit) {
  // Samples that differ only in their numbers of rows: one of them, and the numbers of all.
  struct Kind {
    const SampleRequest* sample;
    std::vector<int64_t> known;
  };
  std::vector<Kind> kinds;
  for (const SampleRequest& sample : samples) {
    if (!HasRows(sample)) continue;
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const Kind& k) { return AreAlike(*k.sample, sample); });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {&sample, {}});
    kind->known.push_back(sample.inputs[0].dim(0));
  }
  for (const int64_t n : rows) {
    for (const Kind& kind : kinds) {
      const SampleRequest& sample = *kind.sample;
      const bool is_known = std::find(kind.known.begin(), kind.known.end(), n) != kind.known.end();
      if (is_known || BytesAt(sample, n) > max_bytes) continue;
      const TensorRows range{
          .tensors = sample.inputs, .begin = 0, .end = std::min(n, sample.inputs[0].dim(0))};
      absl::StatusOr<std::vector<Tensor>> inputs = MergeRows({&range, 1}, n);
      if (!inputs.ok()) continue;
      visit({.signature_name = sample.signature_name,
             .input_names = sample.input_names,
             .inputs = *std::move(inputs),
             .output_filter = sample.output_filter});
    }
  }
}

}  // namespace tessera::serving
