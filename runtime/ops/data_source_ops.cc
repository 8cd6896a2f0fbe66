// Datasets that are not made of others: of tensors, numbers and files.
#include "runtime/framework/op.h"

namespace tessera {

REGISTER_OP("FixedLengthRecordDatasetV2")
    .Input("filenames: string").Input("header_bytes: int64").Input("record_bytes: int64")
    .Input("footer_bytes: int64").Input("buffer_size: int64").Input("compression_type: string")
    .Output("handle: variant").Attr("metadata: string = ''").Stateful().ReadsOutside();
REGISTER_OP("ListDataset")
    .Input("tensors: Tinput_types").Output("handle: variant").Attr("Tinput_types: list(type) >= 1")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").Stateful().ComputesOnly();
REGISTER_OP("RandomDataset")
    .Input("seed: int64").Input("seed2: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").Stateful().ReadsOutside();
REGISTER_OP("RandomDatasetV2")
    .Input("seed: int64").Input("seed2: int64").Input("seed_generator: resource")
    .Output("handle: variant").Attr("rerandomize_each_iteration: bool = false")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").Stateful().Writes("seed_generator");
REGISTER_OP("RangeDataset")
    .Input("start: int64").Input("stop: int64").Input("step: int64").Output("handle: variant")
    .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").Attr("replicate_on_split: bool = false").Stateful()
    .ComputesOnly();
REGISTER_OP("TFRecordDataset")
    .Input("filenames: string").Input("compression_type: string").Input("buffer_size: int64")
    .Output("handle: variant").Attr("metadata: string = ''").Stateful().ReadsOutside();
REGISTER_OP("TFRecordDatasetV2")
    .Input("filenames: string").Input("compression_type: string").Input("buffer_size: int64")
    .Input("byte_offsets: int64").Output("handle: variant").Attr("metadata: string = ''")
    .Stateful().ReadsOutside();
REGISTER_OP("TensorDataset")
    .Input("components: Toutput_types").Output("handle: variant")
    .Attr("Toutput_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''").Stateful().ComputesOnly();
REGISTER_OP("TensorSliceDataset")
    .Input("components: Toutput_types").Output("handle: variant")
    .Attr("Toutput_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")
    .Attr("is_files: bool = false").Attr("metadata: string = ''")
    .Attr("replicate_on_split: bool = false").Stateful().ComputesOnly();
REGISTER_OP("TextLineDataset")
    .Input("filenames: string").Input("compression_type: string").Input("buffer_size: int64")
    .Output("handle: variant").Attr("metadata: string = ''").Stateful().ReadsOutside();

}  // namespace tessera
