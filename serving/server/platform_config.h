// Reads --platform_config_file, a PlatformConfigMap that replaces flags.
#pragma once

#include "serving/server/config_report.h"
#include "serving/server/server_options.h"

namespace tessera::serving {

// If the options name a platform configuration, replaces the options for loading and running models
// by its settings for the platform "tensorflow": batching, sessions and their threads, the tags of
// the SavedModel, warm-up. The flags of these options are ignored then. A setting that the
// configuration leaves out has the default of its message; for example, there is no warm-up.
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
// Adds to a report: the errors of ReadTextProto(), which leave the options as they are;
// INVALID_ARGUMENT for other platforms or adapters; UNIMPLEMENTED for settings that would change
// answers and are not supported; a warning for settings without effect.
void ApplyPlatformConfig(ServerOptions* options, ConfigReport* report);

}  // namespace tessera::serving
