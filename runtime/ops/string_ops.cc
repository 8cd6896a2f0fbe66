// Strings.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/array_shapes.h"
#include "runtime/ops/reduction_shapes.h"

namespace tessera {

REGISTER_OP("AsString")
    .Input("input: T").Output("output: string")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64, complex64, complex128, bool, variant, string}")
    .Attr("precision: int = -1").Attr("scientific: bool = false").Attr("shortest: bool = false")
    .Attr("width: int = -1").Attr("fill: string = ''").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("DecodeBase64")
    .Input("input: string").Output("output: string").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("EncodeBase64")
    .Input("input: string").Output("output: string").Attr("pad: bool = false")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Fingerprint")
    .Input("data: T").Input("method: string").Output("fingerprint: uint8").Attr("T: type")
    .ShapeFn(shape::Spec<"[n, *r], [] -> [n, ?]">);
REGISTER_OP("ReduceJoin")
    .Input("inputs: string").Input("reduction_indices: int32").Output("output: string")
    .Attr("keep_dims: bool = false").Attr("separator: string = ''").ShapeFn(shape::Reduction);
REGISTER_OP("RegexFullMatch")
    .Input("input: string").Input("pattern: string").Output("output: bool")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("RegexReplace")
    .Input("input: string").Input("pattern: string").Input("rewrite: string")
    .Output("output: string").Attr("replace_global: bool = true").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("StaticRegexFullMatch")
    .Input("input: string").Output("output: bool").Attr("pattern: string")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("StaticRegexReplace")
    .Input("input: string").Output("output: string").Attr("pattern: string")
    .Attr("rewrite: string").Attr("replace_global: bool = true").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("StringFormat")
    .Input("inputs: T").Output("output: string").Attr("T: list(type) >= 0")
    .Attr("template: string = '%s'").Attr("placeholder: string = '%s'").Attr("summarize: int = 3")
    .ShapeFn(shape::Spec<"_... -> []">);
REGISTER_OP("StringJoin")
    .Input("inputs: N * string").Output("output: string").Attr("N: int >= 0")
    .Attr("separator: string = ''").ShapeFn(shape::BroadcastAll);
REGISTER_OP("StringLength")
    .Input("input: string").Output("output: int32").Attr("unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("StringLower")
    .Input("input: string").Output("output: string").Attr("encoding: string = ''")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("StringNGrams")
    .Input("data: string").Input("data_splits: Tsplits").Output("ngrams: string")
    .Output("ngrams_splits: Tsplits").Attr("separator: string")
    .Attr("ngram_widths: list(int) >= 0").Attr("left_pad: string").Attr("right_pad: string")
    .Attr("pad_width: int").Attr("preserve_short_sequences: bool")
    .Attr("Tsplits: {int32, int64} = int64").ShapeFn(shape::Spec<"[?], [n] -> [?], [n]">);
REGISTER_OP("StringSplit")
    .Input("input: string").Input("delimiter: string").Output("indices: int64")
    .Output("values: string").Output("shape: int64").Attr("skip_empty: bool = true")
    .ShapeFn(shape::Spec<"[?], [] -> [n, 2], [n], [2]">);
REGISTER_OP("StringSplitV2")
    .Input("input: string").Input("sep: string").Output("indices: int64").Output("values: string")
    .Output("shape: int64").Attr("maxsplit: int = -1")
    .ShapeFn(shape::Spec<"[?], [] -> [n, 2], [n], [2]">);
REGISTER_OP("StringStrip")
    .Input("input: string").Output("output: string").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("StringToHashBucket")
    .Input("string_tensor: string").Output("output: int64").Attr("num_buckets: int >= 1")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("StringToHashBucketFast")
    .Input("input: string").Output("output: int64").Attr("num_buckets: int >= 1")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("StringToHashBucketStrong")
    .Input("input: string").Output("output: int64").Attr("num_buckets: int >= 1")
    .Attr("key: list(int)").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("StringToNumber")
    .Input("string_tensor: string").Output("output: out_type")
    .Attr("out_type: {float, double, int32, int64, uint32, uint64} = float")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("StringUpper")
    .Input("input: string").Output("output: string").Attr("encoding: string = ''")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Substr")
    .Input("input: string").Input("pos: T").Input("len: T").Output("output: string")
    .Attr("T: {int32, int64}").Attr("unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("UnicodeDecode")
    .Input("input: string").Output("row_splits: Tsplits").Output("char_values: int32")
    .Attr("input_encoding: string").Attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")
    .Attr("replacement_char: int = 65533").Attr("replace_control_characters: bool = false")
    .Attr("Tsplits: {int32, int64} = int64").ShapeFn(shape::Spec<"_ -> [?], [?]">);
REGISTER_OP("UnicodeDecodeWithOffsets")
    .Input("input: string").Output("row_splits: Tsplits").Output("char_values: int32")
    .Output("char_to_byte_starts: int64").Attr("input_encoding: string")
    .Attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")
    .Attr("replacement_char: int = 65533").Attr("replace_control_characters: bool = false")
    .Attr("Tsplits: {int32, int64} = int64").ShapeFn(shape::Spec<"_ -> [?], [n], [n]">);
REGISTER_OP("UnicodeEncode")
    .Input("input_values: int32").Input("input_splits: Tsplits").Output("output: string")
    .Attr("errors: {'ignore', 'replace', 'strict'} = 'replace'")
    .Attr("output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}")
    .Attr("replacement_char: int = 65533").Attr("Tsplits: {int32, int64} = int64")
    .ShapeFn(shape::Spec<"[?], [?] -> [?]">);
REGISTER_OP("UnicodeScript")
    .Input("input: int32").Output("output: int32").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("UnicodeTranscode")
    .Input("input: string").Output("output: string").Attr("input_encoding: string")
    .Attr("output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}")
    .Attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")
    .Attr("replacement_char: int = 65533").Attr("replace_control_characters: bool = false")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("UnsortedSegmentJoin")
    .Input("inputs: string").Input("segment_ids: Tindices").Input("num_segments: Tnumsegments")
    .Output("output: string").Attr("separator: string = ''").Attr("Tindices: {int32, int64}")
    .Attr("Tnumsegments: {int32, int64} = int32").ShapeFn(shape::UnsortedSegment);

}  // namespace tessera
