// The texts of headers that are part of the program, for compilers that run while it does.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tessera::cuda {

struct EmbeddedHeader {
  absl::string_view name;  // as it is included
  absl::string_view text;
};

// The functors of elementwise ops, and what stands for the headers that they include.
absl::Span<const EmbeddedHeader> EmbeddedHeaders();

}  // namespace tessera::cuda
