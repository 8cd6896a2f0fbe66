#include "serving/servables/saved_model/testing/linear_session.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera::serving {
namespace {

Tensor Fill(const Shape& shape, std::function<float(int64_t)> value) {
  Tensor tensor = Tensor::Allocate(DType::kFloat, shape).value();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.flat<float>()[i] = value(i);
  return tensor;
}

absl::StatusOr<Tensor> Compute(const std::string& fetch, const Tensor& fed) {
  const int64_t n = fed.num_elements();
  if (fetch == "y:0" || fetch == "z:0") {
    if (fed.dtype() != DType::kFloat) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expects arg[0] to be float but ", DTypeName(fed.dtype()), " is provided"));
    }
    if (fetch == "z:0") return fed;
    return Fill(fed.shape(), [&](int64_t i) { return fed.flat<float>()[i] / 2 + 2; });
  }
  if (fetch == "scores:0") return Fill({n, 2}, [](int64_t i) { return i / 2 + 0.5f * (i % 2); });
  if (fetch == "values:0") return Fill({n, 1}, [](int64_t i) { return 10.0f * i; });
  if (fetch == "flat:0") return Fill({n}, [](int64_t i) { return 10.0f * i; });
  if (fetch == "wide:0") return Fill({n, 3}, [](int64_t i) { return i; });
  Tensor classes = Tensor::Allocate(DType::kString, {n, 2}).value();
  for (int64_t i = 0; i < 2 * n; ++i) classes.flat<std::string>()[i] = absl::StrCat("c", i % 2);
  return classes;
}

class LinearCallable : public Callable {
 public:
  LinearCallable(RunSignature signature, LinearSessionLog* log)
      : signature_(std::move(signature)), log_(log) {}
  absl::Status Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                   std::vector<Tensor>* fetches, tensorflow::RunMetadata*) const override {
    ++log_->runs;
    if (log_->on_run != nullptr) RETURN_IF_ERROR(log_->on_run(options));
    fetches->clear();
    for (const std::string& fetch : signature_.fetches) {
      ASSIGN_OR_RETURN(fetches->emplace_back(), Compute(fetch, feeds[0]));
    }
    return absl::OkStatus();
  }
  const RunSignature& signature() const override { return signature_; }

 private:
  const RunSignature signature_;
  LinearSessionLog* const log_;
};

class LinearSession : public Session {
 public:
  explicit LinearSession(LinearSessionLog* log) : log_(log) {}
  absl::StatusOr<std::shared_ptr<const Callable>> MakeCallable(
      const RunSignature& signature) override {
    ++log_->callables_made;
    return std::make_shared<LinearCallable>(signature, log_);
  }

  // Servables use callables alone.
  absl::Status Extend(const tensorflow::GraphDef&) override { return Unused(); }
  absl::Status Run(const RunOptions&, const std::vector<NamedTensor>&,
                   const std::vector<std::string>&, const std::vector<std::string>&,
                   std::vector<Tensor>*, tensorflow::RunMetadata*) override {
    return Unused();
  }
  absl::StatusOr<std::string> PartialRunSetup(const RunSignature&) override { return Unused(); }
  absl::Status PartialRun(const std::string&, const std::vector<NamedTensor>&,
                          const std::vector<std::string>&, std::vector<Tensor>*) override {
    return Unused();
  }
  std::vector<const Device*> ListDevices() const override { return {}; }
  ResourceManager& resources() override { std::abort(); }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  static absl::Status Unused() { return absl::UnimplementedError("not for servables"); }
  LinearSessionLog* const log_;
};

SignatureTensor Floats(const char* name) {
  return {.tensor_name = name, .run_name = name, .dtype = DType::kFloat, .shape = {-1, 1}};
}
SignatureTensor Strings(const char* name) {
  return {.tensor_name = name, .run_name = name, .dtype = DType::kString, .shape = {-1}};
}

}  // namespace

std::unique_ptr<Session> MakeLinearSession(LinearSessionLog* log) {
  return std::make_unique<LinearSession>(log);
}

SavedModelBundle MakeLinearBundle(LinearSessionLog* log) {
  SavedModelBundle bundle;
  bundle.session = MakeLinearSession(log);
  auto meta_graph = std::make_shared<tensorflow::MetaGraphDef>();
  const std::string predict(kPredictMethod), classify(kClassifyMethod), regress(kRegressMethod);
  auto& s = bundle.signatures;
  s["serving_default"] = {.inputs = {{"x", Floats("x:0")}},
                          .outputs = {{"y", Floats("y:0")}, {"z", Floats("z:0")}},
                          .method_name = predict};
  s["with_default"] = s["serving_default"];
  s["with_default"].defaults["x"] = Tensor::Vector<float>({6});
  // A tensor that is sparse or composite has no name of its own.
  s["sparse_input"] = {
      .inputs = {{"x", Floats("")}}, .outputs = {{"y", Floats("y:0")}}, .method_name = predict};
  s["ragged_output"] = {.inputs = {{"x", Floats("x:0")}},
                        .outputs = {{"r", Floats("")}, {"y", Floats("y:0")}},
                        .method_name = predict};
  s["two_inputs"] = {.inputs = {{"a", Floats("x:0")}, {"b", Floats("w:0")}},
                     .outputs = {{"y", Floats("y:0")}},
                     .method_name = predict};
  s["classify"] = {.inputs = {{"inputs", Strings("examples:0")}},
                   .outputs = {{"classes", Strings("classes:0")}, {"scores", Floats("scores:0")}},
                   .method_name = classify};
  s["classify_scores"] = {.inputs = {{"inputs", Strings("examples:0")}},
                          .outputs = {{"scores", Floats("scores:0")}},
                          .method_name = classify};
  s["regress"] = {.inputs = {{"inputs", Strings("examples:0")}},
                  .outputs = {{"outputs", Floats("values:0")}},
                  .method_name = regress};
  s["regress_flat"] = s["regress"];
  s["regress_flat"].outputs["outputs"] = Floats("flat:0");
  s["regress_wide"] = s["regress"];
  s["regress_wide"].outputs["outputs"] = Floats("wide:0");
  s["odd_method"] = s["serving_default"];
  s["odd_method"].method_name = "my/method";
  for (auto& [name, signature] : s) {
    signature.is_pure = name != log->impure_signature;
    auto& proto = (*meta_graph->mutable_signature_def())[name];
    proto.set_method_name(signature.method_name);
    for (const auto& [alias, tensor] : signature.inputs) {
      auto& info = (*proto.mutable_inputs())[alias];
      info.set_name(tensor.tensor_name);
      info.set_dtype(static_cast<tensorflow::DataType>(tensor.dtype));
    }
  }
  bundle.meta_graph = std::move(meta_graph);
  return bundle;
}

absl::Status LinearLoader::Load() {
  if (absl::EndsWith(directory_, "broken")) return absl::DataLossError("torn checkpoint");
  ASSIGN_OR_RETURN(servable_, SavedModelServable::Create(MakeLinearBundle(log_), {}));
  return absl::OkStatus();
}

}  // namespace tessera::serving
