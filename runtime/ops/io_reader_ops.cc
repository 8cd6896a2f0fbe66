// Readers of records: files by the names in a queue, and batches of a data set of files.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"

namespace tessera {

REGISTER_OP("FixedLengthRecordReader")
    .Output("reader_handle: Ref(string)").Attr("header_bytes: int = 0").Attr("record_bytes: int")
    .Attr("footer_bytes: int = 0").Attr("hop_bytes: int = 0").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().MakesResource().ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("FixedLengthRecordReaderV2")
    .Output("reader_handle: resource").Attr("header_bytes: int = 0").Attr("record_bytes: int")
    .Attr("footer_bytes: int = 0").Attr("hop_bytes: int = 0").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Attr("encoding: string = ''").Stateful().MakesResource()
    .ShapeFn(shape::Scalar);
REGISTER_OP("IdentityReader")
    .Output("reader_handle: Ref(string)").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().MakesResource().ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("IdentityReaderV2")
    .Output("reader_handle: resource").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("ReaderNumRecordsProduced")
    .Input("reader_handle: Ref(string)").Output("records_produced: int64").Reads("reader_handle")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ReaderNumRecordsProducedV2")
    .Input("reader_handle: resource").Output("records_produced: int64").Stateful()
    .Reads("reader_handle").ShapeFn(shape::Scalar);
REGISTER_OP("ReaderNumWorkUnitsCompleted")
    .Input("reader_handle: Ref(string)").Output("units_completed: int64").Reads("reader_handle")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ReaderNumWorkUnitsCompletedV2")
    .Input("reader_handle: resource").Output("units_completed: int64").Stateful()
    .Reads("reader_handle").ShapeFn(shape::Scalar);
REGISTER_OP("ReaderRead")
    .Input("reader_handle: Ref(string)").Input("queue_handle: Ref(string)").Output("key: string")
    .Output("value: string").Writes("reader_handle").Writes("queue_handle").ReadsOutside()
    .MayWait().ShapeFn(shape::Scalar);
REGISTER_OP("ReaderReadUpTo")
    .Input("reader_handle: Ref(string)").Input("queue_handle: Ref(string)")
    .Input("num_records: int64").Output("keys: string").Output("values: string")
    .Writes("reader_handle").Writes("queue_handle").ReadsOutside().MayWait()
    .ShapeFn(shape::Spec<"_, _, [] -> [?]...">);
REGISTER_OP("ReaderReadUpToV2")
    .Input("reader_handle: resource").Input("queue_handle: resource").Input("num_records: int64")
    .Output("keys: string").Output("values: string").Stateful().Writes("reader_handle")
    .Writes("queue_handle").ReadsOutside().MayWait().ShapeFn(shape::Spec<"_, _, [] -> [?]...">);
REGISTER_OP("ReaderReadV2")
    .Input("reader_handle: resource").Input("queue_handle: resource").Output("key: string")
    .Output("value: string").Stateful().Writes("reader_handle").Writes("queue_handle")
    .ReadsOutside().MayWait().ShapeFn(shape::Scalar);
REGISTER_OP("ReaderReset")
    .Input("reader_handle: Ref(string)").Writes("reader_handle");
REGISTER_OP("ReaderResetV2")
    .Input("reader_handle: resource").Stateful().Writes("reader_handle");
REGISTER_OP("ReaderRestoreState")
    .Input("reader_handle: Ref(string)").Input("state: string").Writes("reader_handle");
REGISTER_OP("ReaderRestoreStateV2")
    .Input("reader_handle: resource").Input("state: string").Stateful().Writes("reader_handle");
REGISTER_OP("ReaderSerializeState")
    .Input("reader_handle: Ref(string)").Output("state: string").Reads("reader_handle")
    .ShapeFn(shape::Scalar);
REGISTER_OP("ReaderSerializeStateV2")
    .Input("reader_handle: resource").Output("state: string").Stateful().Reads("reader_handle")
    .ShapeFn(shape::Scalar);
REGISTER_OP("RecordInput")
    .Output("records: string").Attr("file_pattern: string").Attr("file_random_seed: int = 301")
    .Attr("file_shuffle_shift_ratio: float = 0").Attr("file_buffer_size: int = 10000")
    .Attr("file_parallelism: int = 16").Attr("batch_size: int = 32")
    .Attr("compression_type: string = ''").Stateful().ReadsOutside().Random()
    .ShapeFn(shape::Spec<"-> [@batch_size]">);
REGISTER_OP("TFRecordReader")
    .Output("reader_handle: Ref(string)").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Attr("compression_type: string = ''").Stateful()
    .MakesResource().ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("TFRecordReaderV2")
    .Output("reader_handle: resource").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Attr("compression_type: string = ''").Stateful()
    .MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("TextLineReader")
    .Output("reader_handle: Ref(string)").Attr("skip_header_lines: int = 0")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().MakesResource()
    .ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("TextLineReaderV2")
    .Output("reader_handle: resource").Attr("skip_header_lines: int = 0")
    .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().MakesResource()
    .ShapeFn(shape::Scalar);
REGISTER_OP("WholeFileReader")
    .Output("reader_handle: Ref(string)").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().MakesResource().ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("WholeFileReaderV2")
    .Output("reader_handle: resource").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().MakesResource().ShapeFn(shape::Scalar);

}  // namespace tessera
