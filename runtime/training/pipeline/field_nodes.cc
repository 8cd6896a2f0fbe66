#include "runtime/training/pipeline/field_nodes.h"

#include <algorithm>

namespace tessera {
namespace {

Tensor StringVector(const std::vector<std::string>& strings) {
  return Tensor::Vector<std::string>(strings);
}

// Gives values, which are flat behind the rows of `records`, the shape of the field. It counts the
// rows, so that a value of another size cannot spill into the next row.
Expr WithFieldShape(const FieldPlan& field, const Expr& value, const Expr& records) {
  const Expr dims = value.builder()->Constant(Tensor::Vector<int64_t>(field.shape));
  return Reshape(value, Concat({ShapeOf(records, DType::kInt64), dims}, 0));
}

// The stored values of tf.Examples.
std::vector<Expr> ParseExamples(const PipelinePlan& plan, const Expr& records) {
  GraphBuilder& build = *records.builder();
  std::vector<std::string> keys;
  std::vector<Expr> defaults;
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;
  for (const FieldPlan& field : plan.fields) {
    const bool is_bytes = field.decoding != FieldDecoding::kNone;
    dtypes.push_back(is_bytes ? DType::kString : field.dtype);
    shapes.push_back(is_bytes ? PartialShape(Shape())
                              : PartialShape(absl::Span<const int64_t>(field.shape)));
    keys.push_back(field.name);
    // No element stands for a field that must be there.
    const Tensor& missing = field.missing_value;
    defaults.push_back(
        build.Constant(missing.has_value() ? missing : Tensor::Zeros(dtypes.back(), {0}).value()));
  }
  const Expr none = build.Constant(StringVector({}));
  std::vector<Expr> inputs = {records, none, none, build.Constant(StringVector(keys)), none};
  inputs.insert(inputs.end(), defaults.begin(), defaults.end());
  return CallAll("ParseExampleV2", inputs,
                 {{"Tdense", dtypes},
                  {"dense_shapes", shapes},
                  {"num_sparse", 0},
                  {"sparse_types", std::vector<DType>()},
                  {"ragged_value_types", std::vector<DType>()},
                  {"ragged_split_types", std::vector<DType>()}});
}

std::vector<Expr> ParseLines(const PipelinePlan& plan, const Expr& records) {
  if (plan.format == RecordFormat::kText) {
    const DType dtype = plan.fields[0].dtype;
    if (dtype == DType::kString) return {records};
    return {Call("StringToNumber", {records}, {{"out_type", dtype}})};
  }
  struct Column {
    int number;
    size_t field, element;
  };
  std::vector<Column> columns;
  std::vector<std::vector<Expr>> elements(plan.fields.size());
  for (size_t i = 0; i < plan.fields.size(); ++i) {
    elements[i].resize(plan.fields[i].columns.size());
    for (size_t j = 0; j < elements[i].size(); ++j) {
      columns.push_back({plan.fields[i].columns[j], i, j});
    }
  }
  // The op takes columns in ascending order.
  std::ranges::sort(columns, {}, &Column::number);
  std::vector<int64_t> numbers;
  std::vector<DType> dtypes;
  std::vector<Expr> inputs = {records};
  for (const Column& column : columns) {
    const FieldPlan& field = plan.fields[column.field];
    numbers.push_back(column.number);
    dtypes.push_back(field.dtype);
    inputs.push_back(records.builder()->Constant(field.missing_value.has_value()
                                                     ? field.missing_value
                                                     : Tensor::Zeros(field.dtype, {0}).value()));
  }
  AttrMap attrs = {{"OUT_TYPE", dtypes}, {"field_delim", plan.delimiter}};
  // A file without a header has the given columns and no others.
  if (plan.skips_first_line) attrs.emplace("select_cols", numbers);
  const std::vector<Expr> parsed = CallAll("DecodeCSV", inputs, std::move(attrs));
  for (size_t i = 0; i < parsed.size(); ++i) {
    elements[columns[i].field][columns[i].element] = parsed[i];
  }
  std::vector<Expr> values;
  for (size_t i = 0; i < elements.size(); ++i) {
    values.push_back(elements[i][0]);
    if (plan.fields[i].shape.empty()) continue;
    const Expr flat = Call("Pack", elements[i], {{"axis", int64_t{-1}}});
    values.back() = WithFieldShape(plan.fields[i], flat, records);
  }
  return values;
}

Expr DecodeBytes(const FieldPlan& field, const Expr& bytes, const Expr& records) {
  return WithFieldShape(field, Call("DecodeRaw", {bytes}, {{"out_type", field.dtype}}), records);
}

std::vector<Expr> ParseFixedLength(const PipelinePlan& plan, const Expr& records) {
  GraphBuilder& build = *records.builder();
  std::vector<Expr> values;
  for (const FieldPlan& field : plan.fields) {
    const Expr bytes = Call("Substr", {records, build.Constant(Tensor::Scalar(field.begin)),
                                       build.Constant(Tensor::Scalar(field.size))});
    values.push_back(DecodeBytes(field, bytes, records));
  }
  return values;
}

// One image, height by width by channels.
Expr DecodedImage(const FieldPlan& field, const Expr& bytes) {
  const AttrMap attrs = {{"channels", field.shape.empty() ? int64_t{0} : field.shape[2]}};
  Expr image;
  switch (field.decoding) {
    case FieldDecoding::kJpeg:
      image = Call("DecodeJpeg", {bytes}, attrs);
      break;
    case FieldDecoding::kPng:
      image = Call("DecodePng", {bytes}, attrs);
      break;
    default: {
      AttrMap still = attrs;
      still.emplace("expand_animations", false);
      image = Call("DecodeImage", {bytes}, std::move(still));
    }
  }
  if (!field.shape.empty()) {
    image = Call("EnsureShape", {image},
                 {{"shape", PartialShape(absl::Span<const int64_t>(field.shape))}});
  }
  if (field.resize.empty()) return image;
  GraphBuilder& build = *bytes.builder();
  const Expr size =
      build.Ints({static_cast<int32_t>(field.resize[0]), static_cast<int32_t>(field.resize[1])});
  const Expr resized =
      Call("ResizeBilinear", {ExpandDims(image, 0), size}, {{"half_pixel_centers", true}});
  return Call("Squeeze", {resized}, {{"squeeze_dims", std::vector<int64_t>{0}}});
}

}  // namespace

Expr Converted(const FieldPlan& field, Expr value) {
  if (field.is_scaled()) {
    // A float does not hold all seconds since 1970, nor their differences then.
    if (!IsFloating(value.dtype())) {
      const bool fits_float = DTypeSize(value.dtype()) < sizeof(int32_t);
      value = CastTo(value, fits_float ? DType::kFloat : DType::kDouble);
    }
    if (field.scale != 1) value = field.scale * value;
    if (field.offset != 0) value = value + field.offset;
  }
  return CastTo(value, field.output_dtype);
}

std::vector<Expr> FieldsOfRecords(const PipelinePlan& plan, const Expr& records) {
  std::vector<Expr> values;
  switch (plan.format) {
    case RecordFormat::kTfRecord:
      values = ParseExamples(plan, records);
      break;
    case RecordFormat::kText:
    case RecordFormat::kCsv:
      values = ParseLines(plan, records);
      break;
    case RecordFormat::kFixedLength:
      values = ParseFixedLength(plan, records);
      break;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const FieldPlan& field = plan.fields[i];
    if (field.decoding == FieldDecoding::kRaw) {
      values[i] = DecodeBytes(field, values[i], records);
    } else if (field.is_image()) {
      values[i] = DecodedImage(field, values[i]);
    }
    values[i] = Converted(field, values[i]);
  }
  return values;
}

}  // namespace tessera
