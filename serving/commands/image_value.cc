#include "serving/commands/image_value.h"

#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "google/protobuf/text_format.h"
#include "runtime/base/status.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera::serving {
namespace {

using Dims = absl::InlinedVector<int64_t, 6>;

// Pictures are read by the ops that a model would use.
constexpr char kDecodeGraph[] = R"pb(
  node {
    name: "bytes"
    op: "Placeholder"
    attr {
      key: "dtype"
      value { type: DT_STRING }
    }
  }
  node {
    name: "picture"
    op: "DecodeImage"
    input: "bytes"
    attr {
      key: "channels"
      value { i: $0 }
    }
    attr {
      key: "expand_animations"
      value { b: false }
    }
  }
)pb";

constexpr char kConvertGraph[] = R"pb(
  node {
    name: "pictures"
    op: "Placeholder"
    attr {
      key: "dtype"
      value { type: DT_UINT8 }
    }
  }
  node {
    name: "size"
    op: "Placeholder"
    attr {
      key: "dtype"
      value { type: DT_INT32 }
    }
  }
  node {
    name: "scale"
    op: "Placeholder"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "offset"
    op: "Placeholder"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "resized"
    op: "ResizeBilinear"
    input: "pictures"
    input: "size"
    attr {
      key: "T"
      value { type: DT_UINT8 }
    }
    attr {
      key: "half_pixel_centers"
      value { b: true }
    }
  }
  node {
    name: "scaled"
    op: "Mul"
    input: "resized"
    input: "scale"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "moved"
    op: "AddV2"
    input: "scaled"
    input: "offset"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "rounded"
    op: "Round"
    input: "resized"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "values"
    op: "Cast"
    input: "$0"
    attr {
      key: "SrcT"
      value { type: DT_FLOAT }
    }
    attr {
      key: "DstT"
      value { type: $1 }
    }
  }
)pb";

absl::StatusOr<std::vector<Tensor>> RunGraph(const std::string& text,
                                             const std::vector<NamedTensor>& feeds,
                                             const std::string& fetch) {
  tensorflow::GraphDef graph;
  if (!google::protobuf::TextFormat::ParseFromString(text, &graph)) {
    return absl::InternalError("the graph that reads pictures is wrong");
  }
  graph.mutable_versions()->set_producer(1000);
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create({}));
  RETURN_IF_ERROR(session->Extend(graph));
  std::vector<Tensor> outputs;
  RETURN_IF_ERROR(session->Run(feeds, {fetch}, {}, &outputs));
  return outputs;
}

// What an input wants of a picture; dimensions that it leaves open are -1.
struct PictureShape {
  int64_t height = -1, width = -1;
  int64_t channels = 1;
  bool has_batch = true;
  bool has_channels = true;
};

bool AreChannels(int64_t dim) { return dim == 1 || dim == 3 || dim == 4; }

absl::StatusOr<PictureShape> ShapeOf(const TensorInfo& input) {
  const absl::Status no_picture = absl::InvalidArgumentError(
      absl::StrCat("the input is ", DTypeName(input.dtype), " ", input.shape.ToString(),
                   ", which no picture fits ([N,H,W,C], [N,H,W] or [H,W,C] with 1, 3 or 4 "
                   "channels): save an array of that shape with numpy.save()"));
  if (!input.shape.known_rank()) return PictureShape{.channels = 3};
  const auto dims = input.shape.dims();
  PictureShape shape;
  if (dims.size() == 4) {
    shape = {dims[1], dims[2], dims[3] < 0 ? 3 : dims[3]};
  } else if (dims.size() == 3 && AreChannels(dims[2])) {
    shape = {dims[0], dims[1], dims[2], /*has_batch=*/false};
  } else if (dims.size() == 3) {
    shape = {dims[1], dims[2], 1, /*has_batch=*/true, /*has_channels=*/false};
  } else {
    return no_picture;
  }
  if (!AreChannels(shape.channels) || (shape.has_batch && dims[0] > 1)) return no_picture;
  return shape;
}

absl::Status ApplySize(const std::string& size, PictureShape* shape) {
  const std::vector<std::string> sides = absl::StrSplit(size, 'x');
  int64_t height = 0, width = 0;
  if (sides.size() != 2 || !absl::SimpleAtoi(sides[0], &height) ||
      !absl::SimpleAtoi(sides[1], &width) || height <= 0 || width <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("image size '", size, "' is not HEIGHTxWIDTH, such as 224x224"));
  }
  if ((shape->height >= 0 && shape->height != height) ||
      (shape->width >= 0 && shape->width != width)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "image size ", size, " is not that of the input (", shape->height, "x", shape->width, ")"));
  }
  shape->height = height;
  shape->width = width;
  return absl::OkStatus();
}

struct Range {
  float low = 0, high = 1;
};

absl::StatusOr<Range> ParseRange(const std::string& text) {
  const std::vector<std::string> ends = absl::StrSplit(text, ',');
  Range range;
  if (ends.size() != 2 || !absl::SimpleAtof(ends[0], &range.low) ||
      !absl::SimpleAtof(ends[1], &range.high)) {
    return absl::InvalidArgumentError(
        absl::StrCat("image range '", text, "' is not BLACK,WHITE, such as 0,1 or -1,1"));
  }
  return range;
}

// Returns the bytes in the shape that a string input takes: [], or every dimension 1.
Tensor EncodedImage(const PartialShape& shape, absl::string_view bytes) {
  const size_t rank = shape.known_rank() ? shape.dims().size() : 1;
  const Dims dims(rank, 1);
  const std::string element(bytes);
  return Tensor::Of<std::string>(*Shape::Make(dims), absl::MakeConstSpan(&element, 1));
}

}  // namespace

void ImageOptions::AddTo(FlagParser* flags) {
  flags->Add(
      "image_size", &size,
      "size to which a picture is brought where the signature leaves it open; empty: its own",
      "HEIGHTxWIDTH");
  flags->Add("image_range", &range,
             "what black and white of a picture are in an input of floats; integers are 0 to 255",
             "BLACK,WHITE");
}

bool IsImage(absl::string_view bytes) {
  return absl::StartsWith(bytes, "\xff\xd8\xff") || absl::StartsWith(bytes, "\x89PNG\r\n") ||
         absl::StartsWith(bytes, "GIF8") || absl::StartsWith(bytes, "BM");
}

absl::StatusOr<Tensor> ReadImage(const TensorInfo& input, absl::string_view bytes,
                                 const ImageOptions& options) {
  if (input.dtype == DType::kString) return EncodedImage(input.shape, bytes);
  ASSIGN_OR_RETURN(PictureShape shape, ShapeOf(input));
  if (!options.size.empty()) RETURN_IF_ERROR(ApplySize(options.size, &shape));
  ASSIGN_OR_RETURN(const Range range, ParseRange(options.range));

  std::vector<Tensor> decoded;
  ASSIGN_OR_RETURN(decoded, RunGraph(absl::Substitute(kDecodeGraph, shape.channels),
                                     {{"bytes", Tensor::Scalar(std::string(bytes))}}, "picture"));
  const Tensor& picture = decoded[0];
  if (shape.height < 0) shape.height = picture.dim(0);
  if (shape.width < 0) shape.width = picture.dim(1);

  ASSIGN_OR_RETURN(const Tensor batch,
                   picture.Reshaped(Shape{1, picture.dim(0), picture.dim(1), picture.dim(2)}));
  const bool is_floating = IsFloating(input.dtype);
  std::vector<Tensor> values;
  ASSIGN_OR_RETURN(values,
                   RunGraph(absl::Substitute(kConvertGraph, is_floating ? "moved" : "rounded",
                                             static_cast<int>(input.dtype)),
                            {{"pictures", batch},
                             {"size", Tensor::Vector<int32_t>({static_cast<int32_t>(shape.height),
                                                               static_cast<int32_t>(shape.width)})},
                             {"scale", Tensor::Scalar((range.high - range.low) / 255)},
                             {"offset", Tensor::Scalar(range.low)}},
                            "values"));
  Dims dims = {shape.height, shape.width};
  if (shape.has_batch) dims.insert(dims.begin(), 1);
  if (shape.has_channels) dims.push_back(shape.channels);
  return values[0].Reshaped(*Shape::Make(dims));
}

}  // namespace tessera::serving
