// Sequences that write small files into the working directory and read them: as a whole, by
// readers, by datasets, and as checkpoints.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/random_cases/makers/window_datasets.h"
#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

// Names of files are no values that may be wrong: another name is that of another file.
StepOutput Name(Sequence& sequence, const std::string& name) {
  return sequence.Exactly(Tensor::Scalar(name));
}
StepOutput Names(Sequence& sequence, const std::vector<std::string>& names) {
  return sequence.Exactly(Tensor::Vector(absl::Span<const std::string>(names)));
}

// Writes a file of a few lines, which end as lines of Unix or Windows do. The last one may not end.
// This and the next functions return how many records a reader finds in the file.
int64_t WriteLines(Sequence& sequence, const std::string& name, int64_t skipped_lines) {
  Random& random = sequence.random();
  const std::string end = random.Chance(0.8) ? "\n" : "\r\n";
  static const std::vector<std::string> lines = {"", "a", "bc", "one two", "\xc3\xa4", "1,2"};
  std::string contents;
  const int64_t count = random.Below(6);
  for (int64_t i = 0; i < count; ++i) absl::StrAppend(&contents, random.Pick(lines), end);
  int64_t records = count;
  if (random.Chance(0.4)) {
    contents += "last";
    ++records;
  }
  sequence.Step("WriteFile", {Name(sequence, name), sequence.Exactly(Tensor::Scalar(contents))});
  return std::max<int64_t>(records - skipped_lines, 0);
}

// The sizes of the records of a file, in bytes.
struct RecordSizes {
  int64_t header, record, footer;
};

RecordSizes DrawRecordSizes(Random& random) {
  return {random.Below(3), random.Between(1, 4), random.Below(3)};
}

int64_t WriteRecords(Sequence& sequence, const std::string& name, const RecordSizes& sizes) {
  Random& random = sequence.random();
  const int64_t count = random.Below(5);
  std::string contents;
  for (int64_t i = sizes.header + count * sizes.record + sizes.footer; i > 0; --i) {
    contents.push_back(static_cast<char>(random.Below(256)));
  }
  sequence.Step("WriteFile", {Name(sequence, name), sequence.Exactly(Tensor::Scalar(contents))});
  return count;
}

int64_t WriteTfRecords(Sequence& sequence, const std::string& name,
                       const std::string& compression) {
  Random& random = sequence.random();
  const int64_t count = random.Below(5);
  const StepOutput strings =
      sequence.Exactly(RandomTensor(random, DType::kString, Shape{count}, {}));
  const StepOutput dataset =
      sequence.Step("TensorSliceDataset", {strings},
                    {{"output_shapes", std::vector<PartialShape>{PartialShape(Shape())}}})[0];
  // The folder is made by what writes a file into it.
  sequence.Step("WriteFile", {Name(sequence, name), Name(sequence, "")});
  sequence.Step(random.Chance(0.8) ? "DatasetToTFRecord" : "ExperimentalDatasetToTFRecord",
                {dataset, Name(sequence, name), Name(sequence, compression)});
  return count;
}

void MakeFiles(Sequence& sequence) {
  Random& random = sequence.random();
  std::vector<std::string> names;
  while (sequence.Continues()) {
    const int64_t way = random.Below(5);
    if (way < 2 || names.empty()) {
      const std::string name =
          absl::StrCat("files/", random.Chance(0.3) ? "deep/" : "", "f", random.Below(4));
      sequence.Step("WriteFile", {Name(sequence, name), sequence.Drawn(DType::kString, Shape())});
      names.push_back(name);
    } else if (way == 2) {
      sequence.Step("ReadFile", {Name(sequence, random.Pick(names))});
    } else if (way == 3) {
      static const std::vector<std::string> patterns = {"files/*",     "files/f?", "files/*/*",
                                                        "files/f[12]", "none/*",   "files/f1"};
      sequence.Step("MatchingFiles", {Name(sequence, random.Pick(patterns))});
    } else {
      const StepOutput shards = sequence.Int(static_cast<int32_t>(random.Between(1, 9)));
      const StepOutput base = sequence.Drawn(DType::kString, Shape());
      sequence.Step("ShardedFilespec", {base, shards});
      const StepOutput shard = sequence.Int(static_cast<int32_t>(random.Below(9)));
      sequence.Step("ShardedFilename", {base, shard, shards});
    }
  }
  if (sequence.Fails()) sequence.Step("ReadFile", {Name(sequence, "files/none")});
}

// A reader of files of one kind, whose names come from a queue that is closed.
void MakeFileReader(Sequence& sequence) {
  Random& random = sequence.random();
  const int64_t kind = random.Below(4), skipped_lines = random.Below(3);
  const RecordSizes sizes = DrawRecordSizes(random);
  std::vector<std::string> names;
  int64_t left = 0;
  for (int64_t n = random.Between(1, 3); n > 0; --n) {
    const std::string name = absl::StrCat("files/f", n);
    const int64_t records = kind == 0   ? WriteLines(sequence, name, skipped_lines)
                            : kind == 1 ? WriteRecords(sequence, name, sizes)
                            : kind == 2 ? WriteTfRecords(sequence, name, "")
                                        : (WriteLines(sequence, name, 0), 1);
    names.push_back(name);
    left += records;
  }
  static const std::vector<std::string> readers = {"TextLineReaderV2", "FixedLengthRecordReaderV2",
                                                   "TFRecordReaderV2", "WholeFileReaderV2"};
  AttrMap attrs;
  if (kind == 0) attrs["skip_header_lines"] = skipped_lines;
  if (kind == 1) {
    attrs = {{"header_bytes", sizes.header},
             {"record_bytes", sizes.record},
             {"footer_bytes", sizes.footer}};
  }
  const StepOutput reader = sequence.Step(readers[kind], {}, attrs)[0];
  const StepOutput queue =
      sequence.Step("FIFOQueueV2", {},
                    {{"component_types", std::vector<DType>{DType::kString}},
                     {"shapes", std::vector<PartialShape>{PartialShape(Shape())}}})[0];
  sequence.Step("QueueEnqueueManyV2", {queue, Names(sequence, names)});
  sequence.Step("QueueCloseV2", {queue});
  while (sequence.Continues()) {
    const int64_t way = random.Below(6);
    if (way < 3 && (left > 0 || random.Chance(0.05))) {
      sequence.Step("ReaderReadV2", {reader, queue});
      --left;
    } else if (way == 3 && left > 0) {
      const int64_t count = random.Between(1, 4);
      sequence.Step("ReaderReadUpToV2",
                    {reader, queue, sequence.Exactly(Tensor::Scalar<int64_t>(count))});
      left -= count;
    } else if (way == 4) {
      sequence.Step("ReaderNumWorkUnitsCompletedV2", {reader});
    }
    sequence.Step("ReaderNumRecordsProducedV2", {reader});
  }
}

// Gives all elements of a dataset as one tensor, or the first ones by an iterator.
void ReadDataset(Sequence& sequence, const StepOutput& dataset, const Elements& elements) {
  Random& random = sequence.random();
  if (random.Chance(0.6)) {
    Elements all = elements;
    Enclose(-1, &all);
    const AttrMap attrs = ElementAttrs(all);
    const StepOutput size = sequence.Long(100);
    const StepOutput drops = sequence.Given(Tensor::Scalar<bool>(false));
    const StepOutput batch = sequence.Step("BatchDatasetV2", {dataset, size, drops}, attrs)[0];
    sequence.Step("DatasetToSingleElement", {batch}, attrs);
    return;
  }
  const AttrMap attrs = ElementAttrs(elements);
  const StepOutput iterator = sequence.Step("AnonymousIteratorV3", {}, attrs)[0];
  sequence.Step("MakeIterator", {dataset, iterator});
  for (int64_t i = 0, reads = random.Between(1, 5); i < reads; ++i) {
    const StepOutput next = sequence.Step("IteratorGetNextAsOptional", {iterator}, attrs)[0];
    sequence.Step("OptionalHasValue", {next});
    if (i < elements.count) sequence.Step("OptionalGetValue", {next}, attrs);
  }
}

void MakeFileDataset(Sequence& sequence) {
  Random& random = sequence.random();
  static const std::vector<std::string> compressions = {"", "", "GZIP", "ZLIB"};
  const int64_t kind = random.Below(3);
  const std::string compression = kind == 2 ? random.Pick(compressions) : "";
  const RecordSizes sizes = DrawRecordSizes(random);
  std::vector<std::string> names;
  Elements strings = {{DType::kString}, {PartialShape(Shape())}, 0};
  for (int64_t n = random.Between(1, 3); n > 0; --n) {
    const std::string name = absl::StrCat("files/f", n);
    const int64_t records = kind == 0   ? WriteLines(sequence, name, 0)
                            : kind == 1 ? WriteRecords(sequence, name, sizes)
                                        : WriteTfRecords(sequence, name, compression);
    names.push_back(name);
    strings.count += records;
  }
  const StepOutput buffer = sequence.Long(random.Chance(0.5) ? 0 : random.Between(1, 100));
  StepOutput dataset;
  if (kind == 1) {
    // TensorFlow cannot write the first version down, as it does for each iterator.
    dataset = sequence.Step(
        "FixedLengthRecordDatasetV2",
        {Names(sequence, names), sequence.Long(sizes.header), sequence.Long(sizes.record),
         sequence.Long(sizes.footer), buffer, Name(sequence, compression)})[0];
  } else {
    dataset = sequence.Step(kind == 0 ? "TextLineDataset" : "TFRecordDataset",
                            {Names(sequence, names), Name(sequence, compression), buffer})[0];
  }
  if (random.Chance(0.3)) sequence.Step("DatasetCardinality", {dataset});
  if (random.Chance(0.3)) {
    dataset = sequence.Step("CacheDataset", {dataset, Name(sequence, "files/cache")},
                            ElementAttrs(strings))[0];
    if (random.Chance(0.5)) ReadDataset(sequence, dataset, strings);
  }
  ReadDataset(sequence, dataset, strings);
}

void MakeCsvDataset(Sequence& sequence) {
  Random& random = sequence.random();
  static const std::vector<DType> types = {DType::kInt32, DType::kInt64, DType::kFloat,
                                           DType::kDouble, DType::kString};
  static const std::vector<std::string> strings = {"a", "\"b,c\"", "\"\"\"d\"\"\"",
                                                   "",  "na",      "x y"};
  const int64_t columns = random.Between(1, 4);
  const std::string delimiter = random.Chance(0.7) ? "," : ";";
  const std::string end = random.Chance(0.8) ? "\n" : "\r\n";
  Elements elements;
  for (int64_t i = 0; i < columns; ++i) {
    elements.types.push_back(random.Pick(types));
    elements.shapes.emplace_back(Shape());
  }
  const bool has_header = random.Chance(0.4);
  std::string contents;
  for (int64_t rows = random.Between(0, 4) + has_header; rows > 0; --rows) {
    std::vector<std::string> fields;
    for (const DType type : elements.types) {
      fields.push_back(type == DType::kString ? random.Pick(strings)
                       : random.Chance(0.1)   ? std::string("na")
                                              : absl::StrCat(random.Between(-9, 99)));
    }
    absl::StrAppend(&contents, absl::StrJoin(fields, delimiter), end);
  }
  sequence.Step("WriteFile",
                {Name(sequence, "files/csv"), sequence.Exactly(Tensor::Scalar(contents))});
  std::vector<StepOutput> inputs = {Names(sequence, {"files/csv"}),
                                    Name(sequence, ""),
                                    sequence.Long(random.Between(1, 100)),
                                    sequence.Given(Tensor::Scalar<bool>(has_header)),
                                    Name(sequence, delimiter),
                                    sequence.Given(Tensor::Scalar<bool>(random.Chance(0.9))),
                                    Name(sequence, random.Chance(0.5) ? "na" : ""),
                                    sequence.Longs({})};
  for (const DType type : elements.types) {
    // An empty default means that the column must have a value.
    inputs.push_back(sequence.Drawn(type, Shape{random.Chance(0.7) ? 1 : 0}));
  }
  AttrMap attrs = ElementAttrs(elements);
  const bool is_second = random.Chance(0.4);
  if (is_second) inputs.push_back(sequence.Longs({}));
  const StepOutput dataset =
      sequence.Step(is_second ? "CSVDatasetV2" : "CSVDataset", inputs, attrs)[0];
  ReadDataset(sequence, dataset, elements);
}

// Tensors that are saved in one file or two, and restored.
class CheckpointSteps {
 public:
  explicit CheckpointSteps(Sequence& sequence)
      : sequence_(sequence), random_(sequence.random()), is_second_(random_.Chance(0.6)) {
    for (int64_t n = random_.Between(1, 3); n > 0; --n) {
      // TensorFlow saves few types in tables.
      static const std::vector<DType> in_tables = {DType::kFloat,  DType::kInt32, DType::kInt64,
                                                   DType::kDouble, DType::kUint8, DType::kInt8,
                                                   DType::kBool,   DType::kHalf};
      types_.push_back(is_second_ ? DrawType(random_) : random_.Pick(in_tables));
      shapes_.push_back(RandomShape(random_, 3));
      names_.push_back(absl::StrCat("t", n));
    }
  }

  void Run() {
    while (sequence_.Continues()) {
      if (is_second_) {
        SaveBundles();
      } else {
        SaveTables();
      }
    }
  }

 private:
  std::vector<StepOutput> Values() {
    std::vector<StepOutput> values;
    for (size_t i = 0; i < types_.size(); ++i) {
      values.push_back(sequence_.Exactly(sequence_.Draw(types_[i], shapes_[i])));
    }
    return values;
  }
  StepOutput Strings(const std::vector<std::string>& strings) { return Names(sequence_, strings); }
  // The whole of each tensor.
  StepOutput Whole() { return Strings(std::vector<std::string>(types_.size())); }

  void SaveBundles() {
    const std::string prefix = absl::StrCat("files/c", num_saved_++);
    std::vector<StepOutput> inputs = {Name(sequence_, prefix), Strings(names_), Whole()};
    for (const StepOutput& value : Values()) inputs.push_back(value);
    sequence_.Step("SaveV2", inputs);
    std::string from = prefix;
    if (random_.Chance(0.4)) {
      from = absl::StrCat(prefix, "_merged");
      sequence_.Step("MergeV2Checkpoints", {Strings({prefix}), Name(sequence_, from)},
                     {{"delete_old_dirs", random_.Chance(0.5)}});
    }
    std::vector<std::string> slices;
    for (size_t i = 0; i < types_.size(); ++i) slices.push_back(Slice(i));
    sequence_.Step("RestoreV2", {Name(sequence_, from), Strings(names_), Strings(slices)},
                   {{"dtypes", types_}});
    if (sequence_.Fails()) {
      sequence_.Step("RestoreV2", {Name(sequence_, from), Strings({"none"}), Strings({""})},
                     {{"dtypes", std::vector<DType>{DType::kFloat}}});
    }
  }

  void SaveTables() {
    const std::string name = absl::StrCat("files/c", num_saved_++);
    std::vector<StepOutput> inputs = {Name(sequence_, name), Strings(names_)};
    const bool slices = random_.Chance(0.4);
    if (slices) inputs.push_back(Whole());
    for (const StepOutput& value : Values()) inputs.push_back(value);
    // The folder is made by what writes a file into it.
    sequence_.Step("WriteFile", {Name(sequence_, "files/folder"), Name(sequence_, "")});
    sequence_.Step(slices ? "SaveSlices" : "Save", inputs);
    for (size_t i = 0; i < types_.size(); ++i) {
      const std::vector<StepOutput> from = {Name(sequence_, name), Name(sequence_, names_[i])};
      if (random_.Chance(0.5)) {
        sequence_.Step("Restore", from, {{"dt", types_[i]}});
      } else {
        sequence_.Step("RestoreSlice", {from[0], from[1], Name(sequence_, Slice(i))},
                       {{"dt", types_[i]}});
      }
    }
  }

  // The text of a slice of tensor `i`, or nothing for all of it. Strings are not sliced.
  std::string Slice(size_t i) {
    const Shape& shape = shapes_[i];
    if (shape.rank() == 0 || types_[i] == DType::kString || random_.Chance(0.6)) return "";
    std::string sizes;
    std::vector<std::string> extents;
    for (int d = 0; d < shape.rank(); ++d) {
      absl::StrAppend(&sizes, shape.dim(d), " ");
      const int64_t begin = shape.dim(d) == 0 ? 0 : random_.Below(shape.dim(d));
      const int64_t rest = shape.dim(d) - begin;
      extents.push_back(rest == 0 || random_.Chance(0.5)
                            ? std::string("-")
                            : absl::StrCat(begin, ",", random_.Between(1, rest)));
    }
    return sizes + absl::StrJoin(extents, ":");
  }

  Sequence& sequence_;
  Random& random_;
  const bool is_second_;
  std::vector<DType> types_;
  std::vector<Shape> shapes_;
  std::vector<std::string> names_;
  int num_saved_ = 0;
};

void MakeCheckpoints(Sequence& sequence) { CheckpointSteps(sequence).Run(); }

}  // namespace

std::vector<SequenceMaker> FileMakers() {
  return {MakeFiles, MakeFileReader, MakeFileDataset, MakeCsvDataset, MakeCheckpoints};
}

}  // namespace tessera
