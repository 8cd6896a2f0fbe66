#include "runtime/checkpoint/checkpoint_v1.h"

#include <glob.h>

#include <climits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_tensor.h"
#include "runtime/checkpoint/table_reader.h"
#include "runtime/checkpoint/table_writer.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/util/saved_tensor_slice.pb.h"

namespace tessera {
namespace {

using tensorflow::SavedTensorSlices;

constexpr int kFormatVersion = 1;

absl::Status PartError(absl::string_view name, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("cannot save tensor '", name, "': ", why));
}

void SliceToProto(const TensorSlice& slice, tensorflow::TensorSliceProto* proto) {
  for (int d = 0; d < slice.rank(); ++d) {
    auto* const extent = proto->add_extent();
    extent->set_start(slice.start[d]);
    extent->set_length(slice.length[d]);
  }
}

TensorSlice SliceFromProto(const tensorflow::TensorSliceProto& proto) {
  TensorSlice slice;
  for (const auto& extent : proto.extent()) {
    slice.start.push_back(extent.start());
    slice.length.push_back(extent.has_length() ? extent.length() : -1);
  }
  return slice;
}

bool Parse(absl::string_view bytes, SavedTensorSlices* proto) {
  return bytes.size() <= INT_MAX &&
         proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// Finds or adds the directory's entry of a tensor.
absl::StatusOr<tensorflow::SavedSliceMeta*> EntryOf(const TensorPart& part,
                                                    SavedTensorSlices* directory) {
  const auto dtype = static_cast<tensorflow::DataType>(part.tensor.dtype());
  for (auto& entry : *directory->mutable_meta()->mutable_tensor()) {
    if (entry.name() != part.name) continue;
    ASSIGN_OR_RETURN(const Shape shape, ShapeFromProto(entry.shape()));
    if (entry.type() == dtype && shape == part.place.shape) return &entry;
    return PartError(part.name, "its slices differ in the type or shape of the whole");
  }
  tensorflow::SavedSliceMeta* const entry = directory->mutable_meta()->add_tensor();
  entry->set_name(part.name);
  entry->set_type(dtype);
  ShapeToProto(PartialShape(part.place.shape), entry->mutable_shape());
  return entry;
}

}  // namespace

absl::Status WriteCheckpointV1(const std::string& path, absl::Span<const TensorPart> parts) {
  SavedTensorSlices directory;
  directory.mutable_meta()->mutable_versions()->set_producer(kFormatVersion);
  std::map<std::string, std::string> values;  // by key
  for (const TensorPart& part : parts) {
    if (!IsStorable(part.tensor.dtype())) {
      return absl::UnimplementedError(absl::StrCat("cannot save tensor '", part.name, "': type ",
                                                   DTypeName(part.tensor.dtype()),
                                                   " has no form in a checkpoint"));
    }
    if (part.place.slice.shape() != part.tensor.shape()) {
      return PartError(part.name, absl::StrCat("slice '", part.place.slice.ToString(),
                                               "' has shape ", part.place.slice.shape().ToString(),
                                               ", the tensor ", part.tensor.shape().ToString()));
    }
    ASSIGN_OR_RETURN(tensorflow::SavedSliceMeta* const entry, EntryOf(part, &directory));
    SliceToProto(part.place.slice, entry->add_slice());
    SavedTensorSlices value;
    value.mutable_data()->set_name(part.name);
    SliceToProto(part.place.slice, value.mutable_data()->mutable_slice());
    RETURN_IF_ERROR(TensorToProto(part.tensor, TensorProtoForm::kTypedFields,
                                  value.mutable_data()->mutable_data()));
    if (value.ByteSizeLong() > INT_MAX) {
      return PartError(part.name, "version 1 holds at most 2 GB of a slice; SaveV2 holds more");
    }
    if (!values.emplace(SliceKey(part.name, part.place.slice), value.SerializeAsString()).second) {
      return PartError(part.name, "it was saved before");
    }
  }
  TableWriter table;
  table.Add("", directory.SerializeAsString());
  for (const auto& [key, value] : values) table.Add(key, value);
  return WriteFileAtomically(path, std::move(table).Finish());
}

absl::StatusOr<std::unique_ptr<CheckpointV1Reader>> CheckpointV1Reader::Open(
    const std::string& pattern) {
  glob_t found = {};
  const absl::Cleanup free = [&] { ::globfree(&found); };
  if (::glob(pattern.c_str(), 0, nullptr, &found) != 0) {
    return absl::NotFoundError(absl::StrCat("there is no checkpoint file '", pattern, "'"));
  }
  std::unique_ptr<CheckpointV1Reader> reader(new CheckpointV1Reader());
  for (size_t i = 0; i < found.gl_pathc; ++i) {
    const std::string path = found.gl_pathv[i];
    ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
    RETURN_IF_ERROR(
        Annotate(reader->AddFile(file), absl::StrCat("checkpoint file '", path, "': ")));
  }
  return reader;
}

absl::Status CheckpointV1Reader::AddFile(const std::string& file) {
  bool has_directory = false;
  RETURN_IF_ERROR(ReadTable(file, [&](absl::string_view key, absl::string_view value) {
    if (key.empty()) {
      has_directory = true;
      return AddEntries(value);
    }
    data_.try_emplace(key, value);
    return absl::OkStatus();
  }));
  return has_directory ? absl::OkStatus() : absl::DataLossError("it has no directory");
}

absl::Status CheckpointV1Reader::AddEntries(absl::string_view directory) {
  SavedTensorSlices proto;
  if (!Parse(directory, &proto)) return absl::DataLossError("its directory does not parse");
  for (const tensorflow::SavedSliceMeta& meta : proto.meta().tensor()) {
    Entry added;
    const bool fits_dtype = meta.type() >= 0 && meta.type() <= 255;
    added.dtype = fits_dtype ? static_cast<DType>(meta.type()) : DType::kInvalid;
    ASSIGN_OR_RETURN(added.shape, ShapeFromProto(meta.shape()));
    const auto [it, is_new] = entries_.try_emplace(meta.name(), added);
    Entry& entry = it->second;
    if (!IsStorable(entry.dtype) || entry.dtype != added.dtype || entry.shape != added.shape) {
      return absl::DataLossError(
          absl::StrCat("tensor '", meta.name(), "' has types or shapes that do not agree"));
    }
    for (const tensorflow::TensorSliceProto& slice : meta.slice()) {
      entry.slices.push_back(SliceFromProto(slice));
      RETURN_IF_ERROR(entry.slices.back().Within(entry.shape).status());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> CheckpointV1Reader::Load(const std::string& name, const Entry& entry,
                                                const TensorSlice& slice,
                                                const Shape& shape) const {
  const auto it = data_.find(SliceKey(name, slice));
  SavedTensorSlices value;
  // An element takes a byte at least: the shape cannot ask for more memory than the file has.
  if (it == data_.end() || static_cast<int64_t>(it->second.size()) < shape.num_elements() ||
      !Parse(it->second, &value)) {
    return absl::DataLossError(
        absl::StrCat("slice '", slice.ToString(), "' of tensor '", name, "' is damaged"));
  }
  tensorflow::TensorProto& proto = *value.mutable_data()->mutable_data();
  proto.set_dtype(static_cast<tensorflow::DataType>(entry.dtype));
  ShapeToProto(PartialShape(shape), proto.mutable_tensor_shape());
  absl::StatusOr<Tensor> tensor = TensorFromProto(std::move(proto));
  if (tensor.ok()) return tensor;
  return absl::DataLossError(absl::StrCat("slice '", slice.ToString(), "' of tensor '", name,
                                          "': ", tensor.status().message()));
}

absl::StatusOr<Tensor> CheckpointV1Reader::Read(const std::string& name, DType dtype,
                                                const std::optional<ShapeAndSlice>& place) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) {
    return absl::NotFoundError(absl::StrCat("tensor '", name, "' is not in the checkpoint"));
  }
  const Entry& entry = it->second;
  if (entry.dtype != dtype) {
    return absl::InvalidArgumentError(absl::StrCat("tensor '", name, "' is ",
                                                   DTypeName(entry.dtype), " in the checkpoint, ",
                                                   DTypeName(dtype), " in the graph"));
  }
  if (place && place->shape != entry.shape) {
    return absl::InvalidArgumentError(absl::StrCat("tensor '", name, "' has shape ",
                                                   entry.shape.ToString(), " in the checkpoint, ",
                                                   place->shape.ToString(), " in the graph"));
  }
  const TensorSlice box =
      place ? place->slice : *TensorSlice::Whole(entry.shape.rank()).Within(entry.shape);
  // Each piece is read before memory is taken for the whole.
  struct Piece {
    TensorSlice box, common;
    Tensor tensor;
  };
  std::vector<Piece> pieces;
  std::vector<TensorSlice> boxes;
  int64_t missing = box.shape().num_elements();
  for (const TensorSlice& slice : entry.slices) {
    Piece piece;
    piece.box = *slice.Within(entry.shape);
    if (!Intersect(piece.box, box, &piece.common)) continue;
    ASSIGN_OR_RETURN(piece.tensor, Load(name, entry, slice, piece.box.shape()));
    if (piece.box == box) return piece.tensor;
    missing -= piece.common.shape().num_elements();
    boxes.push_back(piece.common);
    pieces.push_back(std::move(piece));
    if (missing < 0) break;
  }
  if (missing != 0 || AnyOverlap(std::move(boxes))) {
    return absl::DataLossError(
        absl::StrCat("the slices of tensor '", name, "' do not cover '", box.ToString(), "' once"));
  }
  ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(dtype, box.shape()));
  for (const Piece& piece : pieces) CopyBox(piece.common, piece.tensor, piece.box, result, box);
  return result;
}

}  // namespace tessera
