// Datasets of what is in files, one file after the other.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/byte_source.h"
#include "runtime/data/dataset.h"
#include "runtime/data/iterator_archive.h"

namespace tessera {

// The elements of one file, read in order.
class FileElements {
 public:
  virtual ~FileElements() = default;
  // Does what Iterator::Next() does. After an error the reader leaves the file unless
  // goes_on_after_error() holds.
  virtual absl::StatusOr<bool> Next(Element* element) = 0;
  // Returns whether the error that Next() returned last belongs to one element, so that the next
  // call gives the element behind it.
  virtual bool goes_on_after_error() const { return false; }
  // The position behind the last element, from which a new object can go on.
  virtual uint64_t position() const = 0;
};

// The elements of several files. A subclass says how one is read.
class FilesDataset : public Dataset {
 public:
  std::unique_ptr<Iterator> MakeIterator() const final;
  const std::vector<std::string>& filenames() const { return filenames_; }
  // Opens file i, at `position` if that is not zero.
  virtual absl::StatusOr<std::unique_ptr<FileElements>> Open(size_t i, uint64_t position) const = 0;

 protected:
  struct Files {
    std::vector<std::string> names;
    Compression compression = Compression::kNone;
    int64_t buffer_size = 0;
  };
  FilesDataset(ElementSpec spec, Files files)
      : Dataset(std::move(spec), files.names.empty() ? 0 : kUnknown),
        filenames_(std::move(files.names)),
        compression_(files.compression),
        buffer_size_(files.buffer_size) {}

  // Opens the bytes of file i behind the first `position`. Errors name the file.
  absl::StatusOr<std::unique_ptr<ByteSource>> OpenBytes(size_t i, uint64_t position) const;
  Compression compression() const { return compression_; }

  // Reads the scalar or vector input 0, `filenames`, and scalar inputs `compression_type` and
  // `buffer_size` at these positions; a negative position stands for none.
  static absl::StatusOr<Files> FilesInput(const KernelContext& ctx, int compression_type,
                                          int buffer_size);
  // One component: a string scalar.
  static ElementSpec OneString() {
    return {.dtypes = {DType::kString}, .shapes = {PartialShape(Shape())}};
  }

 private:
  const std::vector<std::string> filenames_;
  const Compression compression_;
  const int64_t buffer_size_;
};

}  // namespace tessera
