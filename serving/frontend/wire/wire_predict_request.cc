#include "serving/frontend/wire/wire_predict_request.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "tensorflow_serving/apis/predict.pb.h"

namespace tessera::serving {
namespace {

// From this number of names on, they are looked up in a map and not in a list.
constexpr size_t kManyNames = 16;

// The field numbers of PredictRequest, of the entries of its map, and of ModelSpec.
constexpr uint32_t kModelSpec = 1, kInputs = 2, kOutputFilter = 3, kStreamedOptions = 5,
                   kRequestOptions = 7;
constexpr uint32_t kKey = 1, kValue = 2;
constexpr uint32_t kName = 1, kVersion = 2, kSignatureName = 3, kVersionLabel = 4;
constexpr uint32_t kWrappedValue = 1;

// Checks that a field is a valid message, whose content is not needed.
template <typename Message>
bool ReadMessageOf(WireReader& in, int depth) {
  WireReader contents;
  Message message;
  return in.ReadMessage(&contents) && depth >= 1 && contents.MergeInto(&message, depth - 1);
}

}  // namespace

absl::Status WirePredictRequest::Read(const grpc::ByteBuffer& message) {
  RETURN_IF_ERROR(message_.Hold(message));
  const WireReader in = message_.reader();
  size_bytes_ = in.size();
  if (!ReadRequest(in)) {
    return absl::InternalError("the request is not a tensorflow.serving.PredictRequest");
  }
  return absl::OkStatus();
}

bool WirePredictRequest::ReadText(WireReader& in, absl::string_view* text) {
  std::string copy;
  if (!in.ReadText(text, &copy)) return false;
  if (!copy.empty()) *text = texts_.emplace_back(std::move(copy));
  return true;
}

bool WirePredictRequest::ReadRequest(WireReader in) {
  constexpr int depth = WireReader::kMaxDepth;
  while (!in.AtEnd()) {
    uint32_t tag;
    if (!in.ReadTag(&tag)) return false;
    bool good = false;
    WireReader contents;
    switch (tag) {
      case WireTag(kModelSpec, WireType::kBytes):
        good = in.ReadMessage(&contents) && MergeModelSpec(contents, depth - 1);
        break;
      case WireTag(kInputs, WireType::kBytes):
        good = in.ReadMessage(&contents) && ReadInput(contents, depth - 1);
        break;
      case WireTag(kOutputFilter, WireType::kBytes):
        good = ReadText(in, &filter_.emplace_back());
        break;
      case WireTag(kStreamedOptions, WireType::kBytes):
        good = ReadMessageOf<tensorflow::serving::PredictStreamedOptions>(in, depth);
        break;
      case WireTag(kRequestOptions, WireType::kBytes):
        good = ReadMessageOf<tensorflow::serving::PredictRequest::RequestOptions>(in, depth);
        break;
      default:
        good = in.SkipField(tag, depth);
    }
    if (!good) return false;
  }
  return true;
}

bool WirePredictRequest::MergeModelSpec(WireReader in, int depth) {
  has_model_spec_ = true;
  while (!in.AtEnd()) {
    uint32_t tag;
    if (!in.ReadTag(&tag)) return false;
    bool good = false;
    switch (tag) {
      case WireTag(kName, WireType::kBytes):
        good = ReadText(in, &model_spec_.name);
        break;
      case WireTag(kSignatureName, WireType::kBytes):
        good = ReadText(in, &model_spec_.signature_name);
        break;
      // Version and label are a oneof, whose last value counts.
      case WireTag(kVersion, WireType::kBytes): {
        WireReader version;
        model_spec_.label.reset();
        good = in.ReadMessage(&version) && MergeVersion(version, depth - 1);
        break;
      }
      case WireTag(kVersionLabel, WireType::kBytes):
        model_spec_.version.reset();
        good = ReadText(in, &model_spec_.label.emplace());
        break;
      default:
        good = in.SkipField(tag, depth);
    }
    if (!good) return false;
  }
  return true;
}

bool WirePredictRequest::MergeVersion(WireReader in, int depth) {
  if (!model_spec_.version) model_spec_.version = 0;
  while (!in.AtEnd()) {
    uint32_t tag;
    if (!in.ReadTag(&tag)) return false;
    if (tag == WireTag(kWrappedValue, WireType::kVarint)) {
      uint64_t value;
      if (!in.ReadVarint(&value)) return false;
      model_spec_.version = static_cast<int64_t>(value);
    } else if (!in.SkipField(tag, depth)) {
      return false;
    }
  }
  return true;
}

bool WirePredictRequest::ReadInput(WireReader entry, int depth) {
  absl::string_view name;
  WireTensor tensor;
  while (!entry.AtEnd()) {
    uint32_t tag;
    if (!entry.ReadTag(&tag)) return false;
    bool good = false;
    switch (tag) {
      case WireTag(kKey, WireType::kBytes):
        good = ReadText(entry, &name);
        break;
      case WireTag(kValue, WireType::kBytes): {
        WireReader contents;
        good = entry.ReadMessage(&contents) && tensor.Merge(contents, depth - 1);
        break;
      }
      default:
        good = entry.SkipField(tag, depth);
    }
    if (!good) return false;
  }
  tensors_[PositionOf(name)] = std::move(tensor);
  return true;
}

size_t WirePredictRequest::PositionOf(absl::string_view name) {
  const size_t count = names_.size();
  if (count < kManyNames) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found != names_.end()) return static_cast<size_t>(found - names_.begin());
  } else {
    if (positions_.empty()) {
      for (size_t i = 0; i < count; ++i) positions_.emplace(names_[i], i);
    }
    const auto [it, is_new] = positions_.emplace(name, count);
    if (!is_new) return it->second;
  }
  names_.push_back(name);
  tensors_.emplace_back();
  return count;
}

absl::StatusOr<Tensor> WirePredictRequest::DecodeInput(size_t i) const {
  absl::StatusOr<Tensor> tensor = tensors_[i].Decode(
      max_tensor_bytes_, [this](const char* address) { return message_.Keep(address); });
  if (!tensor.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor parsing error: ", names_[i], ": ", tensor.status().message()));
  }
  return tensor;
}

}  // namespace tessera::serving
