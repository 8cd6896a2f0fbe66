// Ops on single elements, and on all of them: GetElementAtIndex, CompressElement,
// UncompressElement, DatasetToTFRecord.
#include <zlib.h>

#include "runtime/base/file_system.h"
#include "runtime/base/tf_record.h"
#include "runtime/data/byte_source.h"
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/elements_dataset.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

void PutElement(KernelContext& ctx, Element element) {
  for (size_t i = 0; i < element.size(); ++i) {
    ctx.set_output(static_cast<int>(i), std::move(element[i]));
  }
}

// Errors: OUT_OF_RANGE for an index beyond the dataset.
class ElementAtIndexKernel final : public OpKernel {
 public:
  explicit ElementAtIndexKernel(const KernelBuild& build) : spec_(SpecOf(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t index, ScalarInput<int64_t>(ctx, 1, "index"));
    const int64_t n = dataset->cardinality();
    if (index < 0 || (n >= 0 && index >= n)) return OutOfRange(index);
    Element element;
    if (const auto* indexed = dynamic_cast<const IndexedDataset*>(dataset.get())) {
      if (index >= indexed->size()) return OutOfRange(index);
      element = indexed->At(index);
    } else {
      const std::unique_ptr<Iterator> iterator = dataset->MakeIterator();
      ASSIGN_OR_RETURN(const int64_t skipped, iterator->Skip(ctx.step(), index));
      bool more = skipped == index;
      if (more) {
        ASSIGN_OR_RETURN(more, iterator->Next(ctx.step(), &element));
      }
      if (!more) return OutOfRange(index);
    }
    RETURN_IF_ERROR(spec_.CheckTypes(element));
    PutElement(ctx, std::move(element));
    return absl::OkStatus();
  }

 private:
  static absl::Status OutOfRange(int64_t index) {
    return absl::OutOfRangeError(absl::StrCat("the dataset has no element ", index));
  }

  const ElementSpec spec_;
};
REGISTER_KERNEL("GetElementAtIndex", kCpu, ElementAtIndexKernel);

// The components of an element as one value. It stays in this process, where they need not be
// compressed.
class PackedElement final : public VariantValue {
 public:
  explicit PackedElement(Element element) : element_(std::move(element)) {}
  std::string TypeName() const override { return "tensorflow.data.CompressedElement"; }
  std::string DebugString() const override {
    return absl::StrCat("element of ", element_.size(), " components");
  }
  const Element& element() const { return element_; }

 private:
  const Element element_;
};

class CompressElementKernel final : public OpKernel {
 public:
  explicit CompressElementKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    Element element = InputsIn(ctx, {0, ctx.num_inputs()});
    return SetScalarOutput(ctx, 0, Variant(std::make_shared<PackedElement>(std::move(element))));
  }
};
REGISTER_KERNEL("CompressElement", kCpu, CompressElementKernel);

// Errors: INVALID_ARGUMENT for another variant, and an element of other types.
class UncompressElementKernel final : public OpKernel {
 public:
  explicit UncompressElementKernel(const KernelBuild& build) : spec_(SpecOf(build)) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& compressed = ctx.input(0);
    const auto* const packed =
        compressed.rank() == 0 ? compressed.scalar<Variant>().get<PackedElement>() : nullptr;
    if (packed == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("compressed must be a compressed element, is ", compressed.ToString()));
    }
    RETURN_IF_ERROR(spec_.CheckTypes(packed->element()));
    PutElement(ctx, packed->element());
    return absl::OkStatus();
  }

 private:
  const ElementSpec spec_;
};
REGISTER_KERNEL("UncompressElement", kCpu, UncompressElementKernel);

// Compresses what is appended to a file. Used by one thread at a time.
class Deflater {
 public:
  explicit Deflater(Compression compression) : compresses_(compression != Compression::kNone) {
    const int window_bits = compression == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
    if (compresses_) {
      ready_ = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits, 8,
                            Z_DEFAULT_STRATEGY) == Z_OK;
    }
  }
  ~Deflater() {
    if (ready_) deflateEnd(&stream_);
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  // `last`: nothing comes behind these bytes. Errors: RESOURCE_EXHAUSTED; those of the file.
  absl::Status Append(std::string& bytes, bool last, AtomicFile& file) {
    if (!compresses_) return file.Append(bytes);
    if (!ready_) return absl::ResourceExhaustedError("no memory to compress the records");
    stream_.next_in = reinterpret_cast<Bytef*>(bytes.data());
    stream_.avail_in = static_cast<uInt>(bytes.size());
    std::string out(size_t{1} << 16, '\0');
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out.data());
      stream_.avail_out = static_cast<uInt>(out.size());
      if (deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR) {
        return absl::InternalError("the records cannot be compressed");
      }
      RETURN_IF_ERROR(
          file.Append(absl::string_view(out).substr(0, out.size() - stream_.avail_out)));
    } while (stream_.avail_out == 0);
    return absl::OkStatus();
  }

 private:
  const bool compresses_;
  bool ready_ = false;
  z_stream stream_{};
};

// Writes a dataset of strings. The file appears when it is complete.
class ToTfRecordKernel final : public OpKernel {
 public:
  explicit ToTfRecordKernel(const KernelBuild&) {}
  // Errors: INVALID_ARGUMENT unless elements are one string; those of the dataset and of files.
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const std::string filename, ScalarInput<std::string>(ctx, 1, "filename"));
    ASSIGN_OR_RETURN(const std::string name, ScalarInput<std::string>(ctx, 2, "compression_type"));
    ASSIGN_OR_RETURN(const Compression compression, CompressionFromName(name));
    ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(filename));
    Deflater deflater(compression);
    const std::unique_ptr<Iterator> iterator = dataset->MakeIterator();
    Element element;
    std::string records;
    constexpr size_t kMostBytes = size_t{1} << 30;  // zlib counts in 32 bits
    while (true) {
      ASSIGN_OR_RETURN(const bool more, iterator->Next(ctx.step(), &element));
      if (more) {
        if (element.size() != 1 || element[0].dtype() != DType::kString ||
            element[0].num_elements() != 1) {
          return absl::InvalidArgumentError(
              "a TFRecord file can be written of a dataset of string scalars only");
        }
        if (element[0].scalar<std::string>().size() > kMostBytes) {
          return absl::InvalidArgumentError("a record may have at most 1 GiB");
        }
        AppendTfRecord(element[0].scalar<std::string>(), &records);
      }
      constexpr size_t kBlockBytes = size_t{4} << 20;
      if (!more || records.size() >= kBlockBytes) {
        RETURN_IF_ERROR(deflater.Append(records, !more, file));
        records.clear();
      }
      if (!more) return file.Commit();
    }
  }
};
REGISTER_KERNEL("DatasetToTFRecord", kCpu, ToTfRecordKernel);
REGISTER_KERNEL("ExperimentalDatasetToTFRecord", kCpu, ToTfRecordKernel);

}  // namespace
}  // namespace tessera
