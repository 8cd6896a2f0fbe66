#include "serving/commands/local_model.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/host/host.h"
#include "runtime/session/numerics_name.h"
#include "runtime/session/queue_runners.h"
#include "runtime/session/saved_model.h"
#include "serving/commands/command.h"
#include "serving/servables/saved_model/serving_session.h"
#include "serving/server/op_libraries.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"  // SavedModelBundle owns one

namespace tessera::serving {
namespace {

constexpr int kMaxThreads = 1024;

absl::StatusOr<SignatureInputs> InputsOf(const SavedModelBundle& bundle, const std::string& name) {
  auto it = bundle.signatures.find(name);
  if (it == bundle.signatures.end()) {
    std::vector<std::string> names;
    for (const auto& [there, signature] : bundle.signatures) names.push_back(there);
    return absl::NotFoundError(absl::StrCat("the model has no signature '", name,
                                            "' (there are: ", absl::StrJoin(names, ", "), ")"));
  }
  SignatureInputs result{.signature_name = name};
  for (const auto& [alias, tensor] : it->second.inputs) {
    result.inputs[alias] = {.dtype = tensor.dtype, .shape = tensor.shape};
  }
  for (const auto& [alias, value] : it->second.defaults) result.optional.push_back(alias);
  return result;
}

}  // namespace

void LocalModelFlags::AddTo(FlagParser* flags) {
  flags->Add("tags", &tags, "comma-separated tags of the meta graph to load", "A,B");
  flags->Add("numerics", &numerics,
             "strict: a row of a product has the same bits whatever its batch; fast: it need not",
             "fast|strict");
  flags->Add("op_library", &op_library,
             "comma-separated shared libraries with custom ops to load first", "FILE");
  flags->Add("threads", &threads,
             "threads that one request may use beside its own; 0: one for each core", "N");
}

absl::StatusOr<LocalModel> LoadLocalModel(const std::string& directory,
                                          const std::string& signature_name,
                                          const LocalModelFlags& flags) {
  auto loading = std::make_shared<SavedModelLoader::Options>();
  loading->session = ServingSessionOptions();
  SessionOptions& session = loading->session;
  const absl::StatusOr<Numerics> numerics = ParseNumerics(flags.numerics);
  if (!numerics.ok()) return UsageError(numerics.status().message());
  session.numerics = *numerics;
  if (flags.threads < 0 || flags.threads > kMaxThreads) {
    return UsageError(absl::StrCat("--threads must be from 0 to ", kMaxThreads));
  }
  RETURN_IF_ERROR(LoadOpLibraries(flags.op_library).status());
  session.host = std::make_shared<Host>(
      Host::Options{.intra_op_threads = flags.threads, .inter_op_threads = flags.threads});
  loading->tags = absl::StrSplit(flags.tags, ',', absl::SkipEmpty());
  LoadStages stages;
  // The loader finds the graph in its cache.
  ASSIGN_OR_RETURN(const GraphCache::Graph graph,
                   loading->graphs->Get(directory, loading->tags, &stages));
  ASSIGN_OR_RETURN(const std::vector<QueueRunner> runners,
                   QueueRunnersOf(*graph->meta_graph, *graph->graph));
  // What fills queues may write variables, such as the number of epochs that were read.
  if (!runners.empty()) session.freeze_variables = false;
  LocalModel model;
  model.loader = std::make_unique<SavedModelLoader>(ServableId{.name = "model", .version = 1},
                                                    directory, loading);
  RETURN_IF_ERROR(model.loader->Load());
  const SavedModelServable& loaded = *model.loader->model();
  model.servable = &loaded;
  ASSIGN_OR_RETURN(model.signature, InputsOf(loaded.bundle(), signature_name));
  if (!runners.empty()) {
    ASSIGN_OR_RETURN(model.queues,
                     QueueThreads::Start(runners, loaded.session(), /*cancellation=*/nullptr));
  }
  return model;
}

}  // namespace tessera::serving
