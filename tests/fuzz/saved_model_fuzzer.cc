// Any bytes as saved_model.pb: opening the model fails with a status or gives signatures. There are
// no kernels here, so what loads is what needs none; checkpoints have a target of their own.
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "runtime/base/logging.h"
#include "runtime/host/host.h"
#include "runtime/session/inspect.h"
#include "runtime/session/saved_model.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace {

// A folder of this process, on a file system in memory where there is one.
std::string MakeFolder() {
  const char* parent = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  std::string folder = std::string(parent) + "/saved_model_fuzzer_XXXXXX";
  CHECK(::mkdtemp(folder.data()) != nullptr);
  static std::string to_remove;
  to_remove = folder;
  std::atexit([] {
    ::unlink((to_remove + "/saved_model.pb").c_str());
    ::rmdir(to_remove.c_str());
  });
  return folder;
}

// Threads are made once, not for each input.
tessera::SessionOptions OneThread() {
  tessera::SessionOptions options;
  options.host = std::make_shared<tessera::Host>(
      tessera::Host::Options{.intra_op_threads = 1, .inter_op_threads = 1});
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string folder = MakeFolder();
  static const tessera::SessionOptions options = OneThread();
  std::ofstream(folder + "/saved_model.pb", std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto load = [](const std::string& directory, const std::set<std::string>& tags) {
    return tessera::LoadSavedModel(directory, tags, options).status();
  };
  const auto text = tessera::Inspect(folder, load);
  const auto saved_model = tessera::ReadSavedModel(folder);
  // What cannot be read cannot be shown; the other way round, a collection inside may be damaged.
  CHECK(saved_model.ok() || !text.ok()) << saved_model.status();
  if (!saved_model.ok()) return 0;
  for (const auto& meta_graph : (*saved_model)->meta_graphs()) {
    const auto& tags = meta_graph.meta_info_def().tags();
    const auto bundle = tessera::LoadSavedModel(folder, {tags.begin(), tags.end()}, options);
    if (!bundle.ok()) continue;
    for (const auto& [name, signature] : bundle->signatures) {
      for (const auto& [alias, value] : signature.defaults) value.ToString(100);
    }
  }
  return 0;
}
