// --platform_config_file: a PlatformConfigMap in place of flags.
#pragma once

#include "absl/status/status.h"
#include "serving/server/server_options.h"

namespace tessera::serving {

// If the options name a platform configuration, puts what it says of the platform "tensorflow" in
// the place of the flags that tell how models are loaded and run: batching, sessions and their
// threads, the SavedModel's tags, warm-up. Those flags do not count then, and what the
// configuration leaves out has the message's default: no warm-up, for instance.
//
//   platform_configs {
//     key: "tensorflow"
//     value { source_adapter_config {
//       [type.googleapis.com/tensorflow.serving.SavedModelBundleSourceAdapterConfig] {
//         legacy_config {
//           saved_model_tags: "serve"
//           enable_model_warmup: true
//           batching_parameters { max_batch_size { value: 32 } }
//         }
//       }
//     } }
//   }
//
// Errors: those of ReadTextProto(); INVALID_ARGUMENT for other platforms or adapters;
// UNIMPLEMENTED for settings that would change answers and are not supported.
absl::Status ApplyPlatformConfig(ServerOptions* options);

}  // namespace tessera::serving
