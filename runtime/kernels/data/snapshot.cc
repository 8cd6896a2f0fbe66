// Datasets that are kept in files: SnapshotDataset, SnapshotDatasetV2, SaveDataset, SaveDatasetV2,
// LoadDataset.
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/element_shards.h"

namespace tessera {
namespace {

// Which elements of a dataset go to which shard.
absl::StatusOr<int64_t> ShardOf(StepContext& step, const CapturedFunction* function,
                                const Element& element) {
  if (function == nullptr) return 0;
  return function->Number(step, element, "`shard_func`");
}

// The elements of the input, which are written to a folder; those of the folder if it is complete.
class SnapshotDataset final : public UnaryDataset {
 public:
  struct Files {
    std::string folder;
    FunctionPtr reader;  // null: there is one shard
    FunctionPtr shard;   // null: all elements go to one shard
    bool reread = true;  // whether a folder that is complete is read
  };
  SnapshotDataset(const DatasetPtr& input, Files files)
      : UnaryDataset(input, input->spec(), input->cardinality()), files_(std::move(files)) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  const Files& files() const { return files_; }

 private:
  const Files files_;
};

class SnapshotIterator final : public UnaryIterator<SnapshotDataset> {
 public:
  using UnaryIterator::UnaryIterator;

  // Errors: UNIMPLEMENTED while the folder is being written.
  absl::Status Transfer(IteratorArchive& archive) override {
    if (writer_ != nullptr) {
      return absl::UnimplementedError(
          "the position in a snapshot cannot be saved while it is being written");
    }
    RETURN_IF_ERROR(archive.Flag("ended", &ended_));
    return archive.Position("reader", &reader_, [&]() -> absl::StatusOr<std::unique_ptr<Iterator>> {
      return Read(archive.step());
    });
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (ended_) return false;
    const SnapshotDataset::Files& files = dataset().files();
    if (reader_ == nullptr && writer_ == nullptr) {
      if (files.reread && HasElementShards(files.folder)) {
        ASSIGN_OR_RETURN(reader_, Read(step));
      } else {
        ASSIGN_OR_RETURN(writer_, ElementShardWriter::Create(files.folder));
      }
    }
    if (reader_ != nullptr) return reader_->Next(step, element);
    ASSIGN_OR_RETURN(const bool more, input().Next(step, element));
    if (!more) {
      ended_ = true;
      const std::unique_ptr<ElementShardWriter> writer = std::move(writer_);
      RETURN_IF_ERROR(writer->Finish());
      return false;
    }
    ASSIGN_OR_RETURN(const int64_t shard, ShardOf(step, files.shard.get(), *element));
    RETURN_IF_ERROR(writer_->Append(shard, *element));
    return true;
  }

 private:
  absl::StatusOr<std::unique_ptr<Iterator>> Read(StepContext& step) {
    const SnapshotDataset::Files& files = dataset().files();
    ASSIGN_OR_RETURN(const DatasetPtr elements,
                     ReadElementShards(step, files.folder, dataset().spec(), files.reader.get()));
    return elements->MakeIterator();
  }

  std::unique_ptr<ElementShardWriter> writer_;
  std::unique_ptr<Iterator> reader_;
  bool ended_ = false;
};

std::unique_ptr<Iterator> SnapshotDataset::MakeIterator() const {
  return std::make_unique<SnapshotIterator>(Share<SnapshotDataset>());
}

class SnapshotKernel final : public DatasetKernel {
 public:
  explicit SnapshotKernel(const KernelBuild& build)
      : reader_(build, "reader_func", "reader_func_other_args"),
        shard_(build, "shard_func", "shard_func_other_args") {
    if (!build.attr<std::string>("reader_prefix").empty() ||
        !build.attr<std::string>("writer_prefix").empty()) {
      build.Fail(absl::UnimplementedError("a snapshot with a prefix is not supported"));
    }
  }

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    SnapshotDataset::Files files;
    ASSIGN_OR_RETURN(files.folder, ScalarInput<std::string>(ctx, 1, "path"));
    ASSIGN_OR_RETURN(files.reader, reader_.Capture(ctx, 1, 1));
    ASSIGN_OR_RETURN(files.shard, shard_.Capture(ctx, input->num_components(), 1));
    return std::make_shared<SnapshotDataset>(input, std::move(files));
  }

 private:
  const FunctionAttr reader_, shard_;
};
REGISTER_KERNEL("SnapshotDatasetV2", kCpu, SnapshotKernel);

// A snapshot of one shard. Whether it is written, read, or neither is the node's affair; by default
// it is read if it is complete.
class SnapshotV1Kernel final : public DatasetKernel {
 public:
  explicit SnapshotV1Kernel(const KernelBuild& build) : mode_(build.attr<std::string>("mode")) {
    if (mode_ != "auto" && mode_ != "read" && mode_ != "write" && mode_ != "passthrough") {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("mode must be auto, read, write or passthrough, is '", mode_, "'")));
    }
    if (!build.attr<std::string>("reader_path_prefix").empty() ||
        !build.attr<std::string>("writer_path_prefix").empty() ||
        build.attr<bool>("shuffle_on_read")) {
      build.Fail(absl::UnimplementedError(
          "a snapshot with a prefix, or one that is shuffled, is not supported"));
    }
  }

 protected:
  // Errors: NOT_FOUND if a snapshot is to be read that is not there.
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    SnapshotDataset::Files files;
    ASSIGN_OR_RETURN(files.folder, ScalarInput<std::string>(ctx, 1, "path"));
    if (mode_ == "passthrough") return input;
    if (mode_ == "read") {
      return ReadElementShards(ctx.step(), files.folder, input->spec(), nullptr);
    }
    files.reread = mode_ == "auto";
    return std::make_shared<SnapshotDataset>(input, std::move(files));
  }

 private:
  const std::string mode_;
};
REGISTER_KERNEL("SnapshotDataset", kCpu, SnapshotV1Kernel);

// The shards of a dataset that is saved.
class ShardFunction {
 public:
  explicit ShardFunction(const KernelBuild& build)
      : shard_(build, "shard_func", "shard_func_other_args"),
        is_used_(build.attr<bool>("use_shard_func")) {}
  absl::StatusOr<FunctionPtr> Capture(const KernelContext& ctx, const Dataset& input) const {
    if (!is_used_) return FunctionPtr();
    return shard_.Capture(ctx, input.num_components(), 1);
  }

 private:
  const FunctionAttr shard_;
  const bool is_used_;
};

// Saves a dataset as its elements go by.
class SaveV2Kernel final : public DatasetKernel {
 public:
  explicit SaveV2Kernel(const KernelBuild& build) : shard_(build) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    SnapshotDataset::Files files;
    ASSIGN_OR_RETURN(files.folder, ScalarInput<std::string>(ctx, 1, "path"));
    ASSIGN_OR_RETURN(files.shard, shard_.Capture(ctx, *input));
    files.reread = false;
    return std::make_shared<SnapshotDataset>(input, std::move(files));
  }

 private:
  const ShardFunction shard_;
};
REGISTER_KERNEL("SaveDatasetV2", kCpu, SaveV2Kernel);

class SaveKernel final : public OpKernel {
 public:
  explicit SaveKernel(const KernelBuild& build) : shard_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const std::string folder, ScalarInput<std::string>(ctx, 1, "path"));
    ASSIGN_OR_RETURN(const FunctionPtr shard, shard_.Capture(ctx, *dataset));
    ASSIGN_OR_RETURN(const auto writer, ElementShardWriter::Create(folder));
    const std::unique_ptr<Iterator> iterator = dataset->MakeIterator();
    Element element;
    while (true) {
      ASSIGN_OR_RETURN(const bool more, iterator->Next(ctx.step(), &element));
      if (!more) return writer->Finish();
      ASSIGN_OR_RETURN(const int64_t number, ShardOf(ctx.step(), shard.get(), element));
      RETURN_IF_ERROR(writer->Append(number, element));
    }
  }

 private:
  const ShardFunction shard_;
};
REGISTER_KERNEL("SaveDataset", kCpu, SaveKernel);

// Errors: NOT_FOUND if nothing is saved there.
class LoadKernel final : public DatasetKernel {
 public:
  explicit LoadKernel(const KernelBuild& build)
      : spec_(SpecOf(build)), reader_(build, "reader_func", "reader_func_other_args") {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string folder, ScalarInput<std::string>(ctx, 0, "path"));
    ASSIGN_OR_RETURN(const FunctionPtr reader, reader_.Capture(ctx, 1, 1));
    return ReadElementShards(ctx.step(), folder, spec_, reader.get());
  }

 private:
  const ElementSpec spec_;
  const FunctionAttr reader_;
};
REGISTER_KERNEL("LoadDataset", kCpu, LoadKernel);

}  // namespace
}  // namespace tessera
