// Datasets that are not made of others: of tensors, numbers and files.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"

namespace tessera {

REGISTER_OP("CSVDataset")
    .Input("filenames: string").Input("compression_type: string").Input("buffer_size: int64")
    .Input("header: bool").Input("field_delim: string").Input("use_quote_delim: bool")
    .Input("na_value: string").Input("select_cols: int64").Input("record_defaults: output_types")
    .Output("handle: variant").Attr("output_types: list({float, double, int32, int64, string}) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Stateful().ReadsOutside().ShapeFn(shape::Scalar);
REGISTER_OP("CSVDatasetV2")
    .Input("filenames: string").Input("compression_type: string").Input("buffer_size: int64")
    .Input("header: bool").Input("field_delim: string").Input("use_quote_delim: bool")
    .Input("na_value: string").Input("select_cols: int64").Input("record_defaults: output_types")
    .Input("exclude_cols: int64").Output("handle: variant").Attr("output_types: list({float, double, int32, int64, string}) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Stateful().ReadsOutside().ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalCSVDataset")
    .Input("filenames: string").Input("compression_type: string").Input("buffer_size: int64")
    .Input("header: bool").Input("field_delim: string").Input("use_quote_delim: bool")
    .Input("na_value: string").Input("select_cols: int64").Input("record_defaults: output_types")
    .Output("handle: variant").Attr("output_types: list({float, double, int32, int64, string}) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Stateful().ReadsOutside().ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalMatchingFilesDataset")
    .Input("patterns: string").Output("handle: variant").Stateful().ReadsOutside()
    .ShapeFn(shape::Scalar);
REGISTER_OP("ExperimentalRandomDataset")
    .Input("seed: int64").Input("seed2: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1").Stateful()
    .ReadsOutside().ShapeFn(shape::Scalar);
REGISTER_OP("FixedLengthRecordDataset")
    .Input("filenames: string").Input("header_bytes: int64").Input("record_bytes: int64")
    .Input("footer_bytes: int64").Input("buffer_size: int64").Output("handle: variant")
    .Attr("metadata: string = ''").Stateful().ReadsOutside().ShapeFn(shape::Scalar);
REGISTER_OP("FixedLengthRecordDatasetV2")
    .Input("filenames: string").Input("header_bytes: int64").Input("record_bytes: int64")
    .Input("footer_bytes: int64").Input("buffer_size: int64").Input("compression_type: string")
    .Output("handle: variant").Attr("metadata: string = ''").Stateful().ReadsOutside()
    .ShapeFn(shape::Scalar);
REGISTER_OP("GeneratorDataset")
    .Input("init_func_other_args: Tinit_func_args").Input("next_func_other_args: Tnext_func_args")
    .Input("finalize_func_other_args: Tfinalize_func_args").Output("handle: variant")
    .Attr("init_func: func").Attr("next_func: func").Attr("finalize_func: func")
    .Attr("Tinit_func_args: list(type) >= 0").Attr("Tnext_func_args: list(type) >= 0")
    .Attr("Tfinalize_func_args: list(type) >= 0").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("metadata: string = ''").Stateful()
    .ComputesOnly().ShapeFn(shape::Scalar);
REGISTER_OP("ListDataset")
    .Input("tensors: Tinput_types").Output("handle: variant").Attr("Tinput_types: list(type) >= 1")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").Stateful().ComputesOnly().ShapeFn(shape::Scalar);
REGISTER_OP("LoadDataset")
    .Input("path: string").Input("reader_func_other_args: Treader_func_args")
    .Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("compression: string = ''")
    .Attr("reader_func: func").Attr("Treader_func_args: list(type) >= 0").Stateful().ReadsOutside()
    .ShapeFn(shape::Scalar);
REGISTER_OP("MatchingFilesDataset")
    .Input("patterns: string").Output("handle: variant").Stateful().ReadsOutside()
    .ShapeFn(shape::Scalar);
REGISTER_OP("RandomDataset")
    .Input("seed: int64").Input("seed2: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").Stateful().ReadsOutside().ShapeFn(shape::Scalar);
REGISTER_OP("RandomDatasetV2")
    .Input("seed: int64").Input("seed2: int64").Input("seed_generator: resource")
    .Output("handle: variant").Attr("rerandomize_each_iteration: bool = false")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").Stateful().Writes("seed_generator").ShapeFn(shape::Scalar);
REGISTER_OP("RangeDataset")
    .Input("start: int64").Input("stop: int64").Input("step: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").Attr("replicate_on_split: bool = false").Stateful()
    .ComputesOnly().ShapeFn(shape::Scalar);
REGISTER_OP("SparseTensorSliceDataset")
    .Input("indices: int64").Input("values: Tvalues").Input("dense_shape: int64")
    .Output("handle: variant").Attr("Tvalues: type").Stateful().ComputesOnly()
    .ShapeFn(shape::Scalar);
REGISTER_OP("TFRecordDataset")
    .Input("filenames: string").Input("compression_type: string").Input("buffer_size: int64")
    .Output("handle: variant").Attr("metadata: string = ''").Stateful().ReadsOutside()
    .ShapeFn(shape::Scalar);
REGISTER_OP("TFRecordDatasetV2")
    .Input("filenames: string").Input("compression_type: string").Input("buffer_size: int64")
    .Input("byte_offsets: int64").Output("handle: variant").Attr("metadata: string = ''")
    .Stateful().ReadsOutside().ShapeFn(shape::Scalar);
REGISTER_OP("TensorDataset")
    .Input("components: Toutput_types").Output("handle: variant")
    .Attr("Toutput_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").Stateful().ComputesOnly().ShapeFn(shape::Scalar);
REGISTER_OP("TensorSliceDataset")
    .Input("components: Toutput_types").Output("handle: variant")
    .Attr("Toutput_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("is_files: bool = false").Attr("metadata: string = ''")
    .Attr("replicate_on_split: bool = false").Stateful().ComputesOnly().ShapeFn(shape::Scalar);
REGISTER_OP("TextLineDataset")
    .Input("filenames: string").Input("compression_type: string").Input("buffer_size: int64")
    .Output("handle: variant").Attr("metadata: string = ''").Stateful().ReadsOutside()
    .ShapeFn(shape::Scalar);
// The records of CSV files, which the pipelines of training jobs read.
REGISTER_OP("_CsvRecordDataset")
    .Input("filenames: string").Input("compression_type: string").Input("buffer_size: int64")
    .Input("field_delim: string").Output("handle: variant").Stateful().ReadsOutside()
    .ShapeFn(shape::Scalar);
REGISTER_OP("WindowOp")
    .Input("inputs: Tinputs").Output("handle: variant").Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1").Attr("Tinputs: list(type) >= 1")
    .ShapeFn(shape::Scalar);

}  // namespace tessera
