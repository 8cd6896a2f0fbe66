#include "runtime/training/pipeline/pipeline_graph.h"

#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/graph/function_export.h"
#include "runtime/graph/graph_export.h"
#include "runtime/training/gradients/graph_builder.h"
#include "runtime/training/pipeline/field_nodes.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

constexpr char kParse[] = "parse";
constexpr char kLinesOfFile[] = "lines_of_file";
// How many records are parsed together before they are cached one by one.
constexpr int64_t kChunk = 64;
// The second seed of shuffles, which keeps them from being drawn at random where the first is 0.
constexpr int64_t kShuffleSeed = 0x7e55e7a;

// What the elements of a dataset are, as attributes say it.
struct Elements {
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;

  AttrMap Attrs() const { return {{"output_types", dtypes}, {"output_shapes", shapes}}; }
  // The same with a first dimension `rows`, -1 for any number.
  Elements Rows(int64_t rows) const {
    Elements batches = {.dtypes = dtypes, .shapes = {}};
    for (const PartialShape& shape : shapes) {
      PartialShape batch({rows});
      for (int64_t dim : shape.dims()) batch.AddDim(dim);
      batches.shapes.push_back(std::move(batch));
    }
    return batches;
  }
};

Elements Strings() { return {.dtypes = {DType::kString}, .shapes = {PartialShape(Shape())}}; }

class PipelineGraphBuilder {
 public:
  PipelineGraphBuilder(const PipelinePlan& plan, int64_t batch_size, int64_t seed)
      : plan_(plan), batch_size_(batch_size), seed_(seed), build_(&graph_, "pipeline") {
    for (const FieldPlan& field : plan.fields) {
      fields_.dtypes.push_back(field.output_dtype);
      fields_.shapes.push_back(field.output_shape);
    }
  }

  absl::Status Build(tensorflow::GraphDef* def) {
    const Expr batches = plan_.cache ? CachedBatches() : Batches();
    const Expr marked =
        Over("ConcatenateDataset", batches, {EmptyBatch()}, fields_.Rows(-1).Attrs());
    const Expr epochs = Over("RepeatDataset", marked, {Long(-1)}, fields_.Rows(-1).Attrs());
    AddIterator(Over("PrefetchDataset", epochs, {Long(plan_.prefetch)}, fields_.Rows(-1).Attrs()));
    RETURN_IF_ERROR(build_.status());
    ExportGraph(graph_, def);
    RETURN_IF_ERROR(AddParse(def));
    return plan_.skips_first_line ? AddLinesOfFile(def) : absl::OkStatus();
  }

 private:
  Expr Long(int64_t value) { return build_.Constant(Tensor::Scalar(value)); }
  Expr Text(const std::string& value) { return build_.Constant(Tensor::Scalar(value)); }
  Expr Bool(bool value) { return build_.Constant(Tensor::Scalar(value)); }
  static Expr Over(absl::string_view op, const Expr& input, std::vector<Expr> others,
                   AttrMap attrs) {
    others.insert(others.begin(), input);
    return Call(op, others, std::move(attrs));
  }

  // The records of files whose lines are records, but for quoted line ends of CSV.
  Expr Lines(GraphBuilder& build, const Expr& files) const {
    const Expr compression = build.Constant(Tensor::Scalar(plan_.compression));
    const Expr buffer = build.Constant(Tensor::Scalar<int64_t>(0));
    if (plan_.format != RecordFormat::kCsv) {
      return Call("TextLineDataset", {files, compression, buffer});
    }
    return Call("_CsvRecordDataset",
                {files, compression, buffer, build.Constant(Tensor::Scalar(plan_.delimiter))});
  }

  Expr Records() {
    const Expr files = build_.Constant(Tensor::Vector<std::string>(plan_.files));
    const Expr compression = Text(plan_.compression);
    const Expr buffer = Long(0);
    Expr records;
    switch (plan_.format) {
      case RecordFormat::kTfRecord:
        records = Call("TFRecordDataset", {files, compression, buffer});
        break;
      case RecordFormat::kFixedLength:
        records = Call("FixedLengthRecordDatasetV2",
                       {files, Long(plan_.header_bytes), Long(plan_.record_bytes), Long(0), buffer,
                        compression});
        break;
      case RecordFormat::kText:
      case RecordFormat::kCsv:
        if (!plan_.skips_first_line) {
          records = Lines(build_, files);
          break;
        }
        AttrMap attrs = Strings().Attrs();
        attrs.emplace("f", FunctionRef{kLinesOfFile, {}});
        attrs.emplace("Targuments", std::vector<DType>());
        const Expr names =
            Call("TensorSliceDataset", {files},
                 {{"Toutput_types", Strings().dtypes}, {"output_shapes", Strings().shapes}});
        records = Call("FlatMapDataset", {names}, std::move(attrs));
        break;
    }
    if (plan_.skip > 0) {
      records = Over("SkipDataset", records, {Long(plan_.skip)}, Strings().Attrs());
    }
    if (plan_.take > 0) {
      records = Over("TakeDataset", records, {Long(plan_.take)}, Strings().Attrs());
    }
    return records;
  }

  Expr Shuffled(const Expr& input, const Elements& elements) {
    if (plan_.shuffle == 0) return input;
    return Over("ShuffleDataset", input, {Long(plan_.shuffle), Long(seed_), Long(kShuffleSeed)},
                elements.Attrs());
  }

  AttrMap ParseAttrs(const Elements& elements) const {
    AttrMap attrs = elements.Attrs();
    attrs.emplace("f", FunctionRef{kParse, {}});
    attrs.emplace("Targuments", std::vector<DType>());
    attrs.emplace("preserve_cardinality", true);
    return attrs;
  }
  Expr Parsed(const Expr& records, const Elements& elements) {
    return Over("ParallelMapDatasetV2", records, {Long(plan_.parallelism)}, ParseAttrs(elements));
  }

  bool IsPadded() const {
    for (const FieldPlan& field : plan_.fields) {
      if (field.variable_length) return true;
    }
    return false;
  }

  // Batches of parsed examples.
  Expr Batched(const Expr& examples) {
    const Expr size = Long(batch_size_);
    const Expr drop = Bool(!plan_.keep_remainder);
    if (!IsPadded()) {
      return Over("BatchDatasetV2", examples, {size, drop}, fields_.Rows(-1).Attrs());
    }
    std::vector<Expr> inputs = {examples, size};
    for (const PartialShape& shape : fields_.shapes) {
      inputs.push_back(build_.Constant(Tensor::Vector<int64_t>(shape.dims())));
    }
    for (const FieldPlan& field : plan_.fields) {
      const Tensor& missing = field.missing_value;
      const bool pads = field.variable_length && missing.num_elements() == 1;
      const Expr zero = build_.Constant(Tensor::Zeros(field.output_dtype, {}).value());
      inputs.push_back(pads ? Converted(field, build_.Constant(missing)) : zero);
    }
    inputs.push_back(drop);
    return Call("PaddedBatchDatasetV2", inputs,
                {{"Toutput_types", fields_.dtypes},
                 {"output_shapes", fields_.Rows(-1).shapes},
                 {"N", static_cast<int64_t>(fields_.shapes.size())}});
  }

  Expr Batches() {
    const Expr records = Shuffled(Records(), Strings());
    if (!plan_.IsParsedOneByOne()) {
      const Expr size = Long(batch_size_);
      const Expr drop = Bool(!plan_.keep_remainder);
      return Parsed(Over("BatchDatasetV2", records, {size, drop}, Strings().Rows(-1).Attrs()),
                    fields_.Rows(-1));
    }
    if (IsPadded()) return Batched(Parsed(records, fields_));
    return Over("MapAndBatchDataset", records,
                {Long(batch_size_), Long(plan_.parallelism), Bool(!plan_.keep_remainder)},
                ParseAttrs(fields_.Rows(-1)));
  }

  // The examples are cached in the order of the files, and shuffled behind the cache.
  Expr CachedBatches() {
    Expr examples;
    if (plan_.IsParsedOneByOne()) {
      examples = Parsed(Records(), fields_);
    } else {
      const Expr chunks = Over("BatchDatasetV2", Records(), {Long(kChunk), Bool(false)},
                               Strings().Rows(-1).Attrs());
      examples = Call("UnbatchDataset", {Parsed(chunks, fields_.Rows(-1))}, fields_.Attrs());
    }
    const Expr cached = Over("CacheDataset", examples, {Text("")}, fields_.Attrs());
    return Batched(Shuffled(cached, fields_));
  }

  Expr EmptyBatch() {
    std::vector<Expr> components;
    std::vector<PartialShape> shapes;
    for (size_t i = 0; i < fields_.dtypes.size(); ++i) {
      std::vector<int64_t> dims = {0};
      for (int64_t dim : fields_.shapes[i].dims()) dims.push_back(dim < 0 ? 0 : dim);
      const Shape shape = Shape::Make(dims).value();
      components.push_back(build_.Constant(Tensor::Zeros(fields_.dtypes[i], shape).value()));
      shapes.emplace_back(shape);
    }
    return Call("TensorDataset", components,
                {{"Toutput_types", fields_.dtypes}, {"output_shapes", shapes}});
  }

  // Adds a node that callers find by its name.
  Node* Named(absl::string_view name, absl::string_view op, AttrMap attrs,
              const std::vector<Expr>& inputs) {
    std::vector<Endpoint> endpoints;
    for (const Expr& input : inputs) endpoints.push_back(input.endpoint());
    if (!build_.status().ok()) return nullptr;
    absl::StatusOr<Node*> node = graph_.AddNode(name, op, std::move(attrs), endpoints);
    if (!node.ok()) build_.Fail(node.status());
    return node.ok() ? *node : nullptr;
  }

  void AddIterator(const Expr& dataset) {
    AttrMap attrs = fields_.Rows(-1).Attrs();
    attrs.emplace("shared_name", "pipeline");
    attrs.emplace("container", "");
    const Expr iterator = build_.Output(Named("iterator", "IteratorV2", std::move(attrs), {}));
    Named(kPipelineStart, "MakeIterator", {}, {dataset, iterator});
    Named(kPipelineNext, "IteratorGetNext", fields_.Rows(-1).Attrs(), {iterator});
    Named(kPipelineSave, "SerializeIterator", {}, {iterator});
    const Expr position =
        build_.Output(Named(kPipelinePosition, "Placeholder",
                            {{"dtype", DType::kVariant}, {"shape", PartialShape({1})}}, {}));
    Named(kPipelineRestore, "DeserializeIterator", {}, {iterator, position});
  }

  // Adds a function of one string.
  template <typename Body>
  absl::Status AddFunction(const std::string& name, tensorflow::GraphDef* def, const Body& body) {
    Graph graph;
    GraphBuilder build(&graph, name);
    Node* const arg = build.AddOpenNode("_Arg", {{"T", DType::kString}, {"index", 0}});
    const std::vector<Expr> values = body(build, build.Output(arg));
    FunctionExport function = {.name = name, .graph = &graph, .args = {arg}};
    for (size_t i = 0; i < values.size(); ++i) {
      function.results.push_back(
          build.AddNode("_Retval", {values[i]}, {{"index", static_cast<int64_t>(i)}}));
    }
    RETURN_IF_ERROR(build.status());
    return ExportFunction(function, def->mutable_library()->add_function());
  }

  absl::Status AddParse(tensorflow::GraphDef* def) {
    return AddFunction(kParse, def, [this](GraphBuilder&, const Expr& records) {
      return FieldsOfRecords(plan_, records);
    });
  }

  absl::Status AddLinesOfFile(tensorflow::GraphDef* def) {
    return AddFunction(kLinesOfFile, def, [this](GraphBuilder& build, const Expr& file) {
      const Expr one = build.Constant(Tensor::Scalar<int64_t>(1));
      return std::vector<Expr>{Call("SkipDataset", {Lines(build, file), one}, Strings().Attrs())};
    });
  }

  const PipelinePlan& plan_;
  const int64_t batch_size_, seed_;
  Graph graph_;
  GraphBuilder build_;
  Elements fields_;
};

}  // namespace

absl::Status BuildPipelineGraph(const PipelinePlan& plan, int64_t batch_size, int64_t seed,
                                tensorflow::GraphDef* graph) {
  return PipelineGraphBuilder(plan, batch_size, seed).Build(graph);
}

}  // namespace tessera
