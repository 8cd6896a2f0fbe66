// Files, checkpoints, summaries.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"

namespace tessera {

REGISTER_OP("AudioSummary")
    .Input("tag: string").Input("tensor: float").Output("summary: string")
    .Attr("sample_rate: float").Attr("max_outputs: int >= 1 = 3").Deprecated(15)
    .ShapeFn(shape::Spec<"_... -> []...">);
REGISTER_OP("AudioSummaryV2")
    .Input("tag: string").Input("tensor: float").Input("sample_rate: float")
    .Output("summary: string").Attr("max_outputs: int >= 1 = 3")
    .ShapeFn(shape::Spec<"_... -> []...">);
REGISTER_OP("CloseSummaryWriter")
    .Input("writer: resource").Stateful().Writes("writer").WritesOutside();
REGISTER_OP("CreateSummaryFileWriter")
    .Input("writer: resource").Input("logdir: string").Input("max_queue: int32")
    .Input("flush_millis: int32").Input("filename_suffix: string").Stateful()
    .Writes("writer").WritesOutside();
REGISTER_OP("DebugNumericSummaryV2")
    .Input("input: T").Output("output: output_dtype")
    .Attr("output_dtype: {float, double} = float").Attr("T: type")
    .Attr("tensor_debug_mode: int = -1").Attr("tensor_id: int = -1").ShapeFn(shape::Unknown);
REGISTER_OP("FlushSummaryWriter")
    .Input("writer: resource").Stateful().Writes("writer").WritesOutside();
REGISTER_OP("GenerateVocabRemapping")
    .Input("new_vocab_file: string").Input("old_vocab_file: string").Output("remapping: int64")
    .Output("num_present: int32").Attr("new_vocab_offset: int >= 0")
    .Attr("num_new_vocab: int >= 0").Attr("old_vocab_size: int >= -1 = -1").ReadsOutside()
    .ShapeFn(shape::Spec<"[], [] -> [@num_new_vocab], []">);
REGISTER_OP("HistogramSummary")
    .Input("tag: string").Input("values: T").Output("summary: string")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64} = float").ShapeFn(shape::Spec<"_... -> []...">);
REGISTER_OP("ImageSummary")
    .Input("tag: string").Input("tensor: T").Output("summary: string")
    .Attr("max_images: int >= 1 = 3").Attr("T: {uint8, float, half, double} = float")
    .Attr("bad_color: tensor = uint8[255, 0, 0, 255]").ShapeFn(shape::Spec<"_... -> []...">);
REGISTER_OP("ImportEvent")
    .Input("writer: resource").Input("event: string").Stateful().Writes("writer").WritesOutside();
REGISTER_OP("LoadAndRemapMatrix")
    .Input("ckpt_path: string").Input("old_tensor_name: string").Input("row_remapping: int64")
    .Input("col_remapping: int64").Input("initializing_values: float")
    .Output("output_matrix: float").Attr("num_rows: int >= 0").Attr("num_cols: int >= 1")
    .Attr("max_rows_in_memory: int = -1").Stateful().ReadsOutside()
    .ShapeFn(shape::Spec<"_, [], [?], [?], [?] -> [@num_rows, @num_cols]">);
REGISTER_OP("MatchingFiles")
    .Input("pattern: string").Output("filenames: string").ReadsOutside()
    .ShapeFn(shape::Spec<"_ -> [?]">);
REGISTER_OP("MergeSummary")
    .Input("inputs: N * string").Output("summary: string").Attr("N: int >= 1")
    .ShapeFn(shape::Spec<"_... -> []...">);
REGISTER_OP("MergeV2Checkpoints")
    .Input("checkpoint_prefixes: string").Input("destination_prefix: string")
    .Attr("delete_old_dirs: bool = true").Attr("allow_missing_files: bool = false").Stateful()
    .ReadsOutside().WritesOutside();
REGISTER_OP("ReadFile")
    .Input("filename: string").Output("contents: string").ReadsOutside()
    .ShapeFn(shape::Spec<"_... -> []...">);
REGISTER_OP("Restore")
    .Input("file_pattern: string").Input("tensor_name: string").Output("tensor: dt")
    .Attr("dt: type").Attr("preferred_shard: int = -1").Stateful().ReadsOutside()
    .ShapeFn(shape::Unknown);
REGISTER_OP("RestoreSlice")
    .Input("file_pattern: string").Input("tensor_name: string").Input("shape_and_slice: string")
    .Output("tensor: dt").Attr("dt: type").Attr("preferred_shard: int = -1").Stateful()
    .ReadsOutside().ShapeFn(shape::Unknown);
REGISTER_OP("RestoreV2")
    .Input("prefix: string").Input("tensor_names: string").Input("shape_and_slices: string")
    .Output("tensors: dtypes").Attr("dtypes: list(type) >= 1").Stateful().ReadsOutside()
    .ShapeFn(shape::Unknown);
REGISTER_OP("Save")
    .Input("filename: string").Input("tensor_names: string").Input("data: T")
    .Attr("T: list(type) >= 1").Stateful().WritesOutside();
REGISTER_OP("SaveSlices")
    .Input("filename: string").Input("tensor_names: string").Input("shapes_and_slices: string")
    .Input("data: T").Attr("T: list(type) >= 1").Stateful().WritesOutside();
REGISTER_OP("SaveV2")
    .Input("prefix: string").Input("tensor_names: string").Input("shape_and_slices: string")
    .Input("tensors: dtypes").Attr("dtypes: list(type) >= 1").Stateful().WritesOutside();
REGISTER_OP("ScalarSummary")
    .Input("tags: string").Input("values: T").Output("summary: string")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}").ShapeFn(shape::Spec<"_... -> []...">);
REGISTER_OP("ShardedFilename")
    .Input("basename: string").Input("shard: int32").Input("num_shards: int32")
    .Output("filename: string").ShapeFn(shape::Spec<"_... -> []...">);
REGISTER_OP("ShardedFilespec")
    .Input("basename: string").Input("num_shards: int32").Output("filename: string")
    .ShapeFn(shape::Spec<"_... -> []...">);
REGISTER_OP("SummaryWriter")
    .Output("writer: resource").Attr("shared_name: string = ''").Attr("container: string = ''")
    .Stateful().MakesHandle().ShapeFn(shape::Scalar);
REGISTER_OP("TensorSummary")
    .Input("tensor: T").Output("summary: string").Attr("T: type").Attr("description: string = ''")
    .Attr("labels: list(string) = []").Attr("display_name: string = ''")
    .ShapeFn(shape::Spec<"_... -> []...">);
REGISTER_OP("TensorSummaryV2")
    .Input("tag: string").Input("tensor: T").Input("serialized_summary_metadata: string")
    .Output("summary: string").Attr("T: type").ShapeFn(shape::Spec<"_... -> []...">);
REGISTER_OP("WriteAudioSummary")
    .Input("writer: resource").Input("step: int64").Input("tag: string").Input("tensor: float")
    .Input("sample_rate: float").Attr("max_outputs: int >= 1 = 3").Stateful().Writes("writer")
    .WritesOutside();
REGISTER_OP("WriteFile")
    .Input("filename: string").Input("contents: string").Stateful().WritesOutside();
REGISTER_OP("WriteGraphSummary")
    .Input("writer: resource").Input("step: int64").Input("tensor: string").Stateful()
    .Writes("writer").WritesOutside();
REGISTER_OP("WriteHistogramSummary")
    .Input("writer: resource").Input("step: int64").Input("tag: string").Input("values: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64, bool} = float")
    .Stateful().Writes("writer").WritesOutside();
REGISTER_OP("WriteImageSummary")
    .Input("writer: resource").Input("step: int64").Input("tag: string").Input("tensor: T")
    .Input("bad_color: uint8").Attr("max_images: int >= 1 = 3")
    .Attr("T: {uint8, double, float, half} = float").Stateful().Writes("writer").WritesOutside();
REGISTER_OP("WriteRawProtoSummary")
    .Input("writer: resource").Input("step: int64").Input("tensor: string").Stateful()
    .Writes("writer").WritesOutside();
REGISTER_OP("WriteScalarSummary")
    .Input("writer: resource").Input("step: int64").Input("tag: string").Input("value: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Stateful().Writes("writer").WritesOutside();
REGISTER_OP("WriteSummary")
    .Input("writer: resource").Input("step: int64").Input("tensor: T").Input("tag: string")
    .Input("summary_metadata: string").Attr("T: type").Stateful().Writes("writer").WritesOutside();

}  // namespace tessera
