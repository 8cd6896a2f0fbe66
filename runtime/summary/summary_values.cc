#include "runtime/summary/summary_values.h"

#include <cmath>
#include <utility>

#include "runtime/summary/histogram.h"
#include "tensorboard/plugins/hparams/plugin_data.pb.h"
#include "tensorflow/core/framework/summary.pb.h"

namespace tessera {
namespace {

using tensorboard::hparams::HParamsPluginData;
using tensorflow::Summary;

Summary::Value* AddValue(absl::string_view tag, Summary* summary) {
  Summary::Value* const value = summary->add_value();
  value->set_tag(std::string(tag));
  return value;
}

double Seconds(absl::Time time) { return absl::ToDoubleSeconds(time - absl::UnixEpoch()); }

// The plugin reads the metadata alone; TensorBoard wants a tensor to go with them, an empty one.
void AddHParamsData(absl::string_view tag, const HParamsPluginData& data, Summary* summary) {
  Summary::Value* const value = AddValue(tag, summary);
  value->mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
  value->mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(0);
  auto* const plugin = value->mutable_metadata()->mutable_plugin_data();
  plugin->set_plugin_name("hparams");
  plugin->set_content(data.SerializeAsString());
}

}  // namespace

void AddScalar(absl::string_view tag, float value, Summary* summary) {
  AddValue(tag, summary)->set_simple_value(value);
}

void AddHistogram(absl::string_view tag, absl::Span<const float> values, Summary* summary) {
  SummaryHistogram histogram;
  for (const float value : values) {
    if (std::isfinite(value)) histogram.Add(value);
  }
  histogram.ToProto(AddValue(tag, summary)->mutable_histo());
}

void AddText(absl::string_view tag, absl::string_view text, Summary* summary) {
  Summary::Value* const value = AddValue(tag, summary);
  value->mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  value->mutable_metadata()->set_data_class(tensorflow::DATA_CLASS_TENSOR);
  value->mutable_tensor()->set_dtype(tensorflow::DT_STRING);
  value->mutable_tensor()->mutable_tensor_shape();
  value->mutable_tensor()->add_string_val(std::string(text));
}

void AddImage(absl::string_view tag, std::string encoded, int height, int width, int channels,
              Summary* summary) {
  Summary::Image* const image = AddValue(tag, summary)->mutable_image();
  image->set_height(height);
  image->set_width(width);
  image->set_colorspace(channels);
  image->set_encoded_image_string(std::move(encoded));
}

void AddHyperParameters(const std::map<std::string, HyperParameter>& values, absl::string_view name,
                        absl::Time start, Summary* summary) {
  HParamsPluginData data;
  auto* const info = data.mutable_session_start_info();
  for (const auto& [key, value] : values) {
    google::protobuf::Value& proto = (*info->mutable_hparams())[key];
    if (const bool* flag = std::get_if<bool>(&value)) {
      proto.set_bool_value(*flag);
    } else if (const double* number = std::get_if<double>(&value)) {
      proto.set_number_value(*number);
    } else {
      proto.set_string_value(std::get<std::string>(value));
    }
  }
  info->set_group_name(std::string(name));
  info->set_start_time_secs(Seconds(start));
  AddHParamsData("_hparams_/session_start_info", data, summary);
}

void AddRunEnd(bool is_success, absl::Time end, Summary* summary) {
  HParamsPluginData data;
  data.mutable_session_end_info()->set_status(is_success ? tensorboard::hparams::STATUS_SUCCESS
                                                         : tensorboard::hparams::STATUS_FAILURE);
  data.mutable_session_end_info()->set_end_time_secs(Seconds(end));
  AddHParamsData("_hparams_/session_end_info", data, summary);
}

}  // namespace tessera
