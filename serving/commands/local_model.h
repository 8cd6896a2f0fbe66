// A SavedModel that a command runs by itself, without a server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/session/queue_threads.h"
#include "serving/commands/signature_inputs.h"
#include "serving/servables/saved_model/saved_model_loader.h"
#include "serving/server/flag_parser.h"

namespace tessera::serving {

// The flags that say how a model is loaded.
struct LocalModelFlags {
  std::string tags = "serve";
  std::string numerics = "fast";
  std::string op_library;
  int32_t threads = 0;  // of the pools that a run's work is spread on; 0: one for each core

  bool operator==(const LocalModelFlags&) const = default;
  // The flags write into this object, which must outlive the parser.
  void AddTo(FlagParser* flags);
};

// A loaded model, and what its signature takes.
struct LocalModel {
  std::unique_ptr<SavedModelLoader> loader;
  const Servable* servable = nullptr;  // the loader's
  SignatureInputs signature;
  // The threads that fill the queues from which the model reads; null: it has no queue runners.
  std::unique_ptr<QueueThreads> queues;
};

// Loads the SavedModel in `directory` as a server does, but makes no requests to warm it up, and
// starts its queue runners. Errors: UsageError() for an unknown mode of numerics or a number of
// threads that makes no sense; NOT_FOUND if there is no such signature; those of
// SavedModelLoader::Load().
absl::StatusOr<LocalModel> LoadLocalModel(const std::string& directory,
                                          const std::string& signature_name,
                                          const LocalModelFlags& flags);

}  // namespace tessera::serving
