// The page docs/ops.md: which ops and dtypes have kernels, beside TensorFlow's registry.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Renders the kernels that this process registers as Markdown.
//
// `tensorflow_kernels` has a line for each op that TensorFlow runs on a CPU: the op, and after a
// tab "ATTR=DTYPE,DTYPE ..." for the type attributes whose kernels take these dtypes alone.
// `exceptions` has a line for each reason to leave ops out: the reason, and after a tab the names
// of its ops, separated by blanks. A name may have wildcards. Errors: INVALID_ARGUMENT for a line
// of another form, and for an exception that has a kernel.
absl::StatusOr<std::string> OpsPage(absl::string_view tensorflow_kernels,
                                    absl::string_view exceptions);

}  // namespace tessera
