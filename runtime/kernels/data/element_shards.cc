#include "runtime/kernels/data/element_shards.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/tf_record.h"
#include "runtime/data/dataset_encoding.h"
#include "runtime/data/element_bytes.h"
#include "runtime/data/record_file.h"
#include "runtime/kernels/data/elements_dataset.h"
#include "runtime/kernels/data/files_dataset.h"

namespace tessera {
namespace {

std::string ListPath(const std::string& folder) { return JoinPath(folder, "shards"); }
std::string ShardPath(const std::string& folder, int64_t shard) {
  return JoinPath(folder, absl::StrCat(shard, ".elements"));
}

class ShardElements final : public FileElements {
 public:
  ShardElements(std::unique_ptr<ByteSource> bytes, const ElementSpec& spec)
      : bytes_(std::move(bytes)), spec_(spec) {}
  absl::StatusOr<bool> Next(Element* element) override {
    std::string record;
    ASSIGN_OR_RETURN(const bool more, ReadRecord(*bytes_, &record));
    if (!more) return false;
    ASSIGN_OR_RETURN(*element, ElementFromBytes(record));
    RETURN_IF_ERROR(spec_.CheckTypes(*element));
    return true;
  }
  uint64_t position() const override { return bytes_->position(); }

 private:
  const std::unique_ptr<ByteSource> bytes_;
  const ElementSpec& spec_;  // of the dataset
};

constexpr absl::string_view kEncodedShard = "tessera::ShardDataset";

class ShardDataset final : public FilesDataset {
 public:
  ShardDataset(ElementSpec spec, std::string path)
      : FilesDataset(std::move(spec), {.names = {std::move(path)}}) {}
  std::shared_ptr<const EncodedVariant> Encode() const override {
    return EncodeDataset(kEncodedShard, spec(), {Tensor::Scalar<std::string>(filenames()[0])});
  }
  absl::StatusOr<std::unique_ptr<FileElements>> Open(size_t i, uint64_t position) const override {
    ASSIGN_OR_RETURN(auto bytes, OpenBytes(i, position));
    return std::make_unique<ShardElements>(std::move(bytes), spec());
  }
};

// The content is the path of the file.
absl::StatusOr<DatasetPtr> DecodeShard(ElementSpec spec, std::vector<Tensor> content) {
  if (content.size() != 1 || content[0].dtype() != DType::kString || content[0].rank() != 0) {
    return absl::DataLossError("a saved shard does not have the path of its file");
  }
  return std::make_shared<ShardDataset>(std::move(spec), content[0].scalar<std::string>());
}
REGISTER_DATASET_DECODER(kEncodedShard, DecodeShard);

}  // namespace

absl::StatusOr<std::unique_ptr<ElementShardWriter>> ElementShardWriter::Create(
    const std::string& folder) {
  RETURN_IF_ERROR(CreateDirectories(folder));
  return std::unique_ptr<ElementShardWriter>(new ElementShardWriter(folder));
}

absl::Status ElementShardWriter::Append(int64_t shard, const Element& element) {
  std::unique_ptr<AtomicFile>& file = shards_[shard];
  if (file == nullptr) {
    ASSIGN_OR_RETURN(AtomicFile created, AtomicFile::Create(ShardPath(folder_, shard)));
    file = std::make_unique<AtomicFile>(std::move(created));
  }
  ASSIGN_OR_RETURN(const std::string bytes, ElementToBytes(element));
  std::string record;
  AppendTfRecord(bytes, &record);
  return file->Append(record);
}

absl::Status ElementShardWriter::Finish() {
  std::string list;
  for (const auto& [shard, file] : shards_) {
    RETURN_IF_ERROR(file->Commit());
    absl::StrAppend(&list, shard, "\n");
  }
  return WriteFileAtomically(ListPath(folder_), list);
}

bool HasElementShards(const std::string& folder) { return FileExists(ListPath(folder)); }

absl::StatusOr<DatasetPtr> ReadElementShards(StepContext& step, const std::string& folder,
                                             const ElementSpec& spec,
                                             const CapturedFunction* reader) {
  ASSIGN_OR_RETURN(const std::string list, ReadFile(ListPath(folder)));
  if (reader == nullptr && !list.empty()) {
    return std::make_shared<ShardDataset>(spec, ShardPath(folder, 0));
  }
  if (reader == nullptr) return std::make_shared<ElementsDataset>(spec, std::vector<Element>());
  std::vector<Element> shards;
  for (absl::string_view line : absl::StrSplit(list, '\n', absl::SkipEmpty())) {
    int64_t shard;
    if (!absl::SimpleAtoi(line, &shard)) {
      return absl::DataLossError(
          absl::StrCat("'", ListPath(folder), "' names a shard '", line, "'"));
    }
    shards.push_back(
        {DatasetTensor(std::make_shared<ShardDataset>(spec, ShardPath(folder, shard)))});
  }
  auto all = std::make_shared<ElementsDataset>(
      ElementSpec{.dtypes = {DType::kVariant}, .shapes = {PartialShape(Shape())}},
      std::move(shards));
  return reader->MakeDataset(step, {DatasetTensor(std::move(all))}, spec);
}

}  // namespace tessera
