// The ops of TensorFlow Text (the package tensorflow-text), which saved models carry that take text.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"

namespace tessera {

REGISTER_OP("CaseFoldUTF8")
    .Input("input: string").Output("output: string").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ConstrainedSequence")
    .Input("scores: float").Input("sequence_lengths: Tin").Input("allowed_transitions: bool")
    .Input("transition_weights: float").Output("states: int32").Output("states_splits: Tsplits")
    .Attr("Tin: {int32, int64}").Attr("Tsplits: {int32, int64} = int64")
    .Attr("use_viterbi: bool").Attr("use_log_space: bool")
    .Attr("use_start_and_end_states: bool").ShapeFn(shape::Spec<"_, _, _, _ -> [?], [?]">);
REGISTER_OP("FastBertNormalize")
    .Input("input_values: string").Input("fast_bert_normalizer_model: uint8")
    .Output("output_values: string").Output("output_offsets: int64")
    .Output("output_row_splits: int64").Attr("get_offsets: bool = false")
    .ShapeFn(shape::Spec<"[*s], [m] -> [*s], [?], [?]">);
REGISTER_OP("FastWordpieceTokenizeWithOffsets")
    .Input("input_values: string").Input("wp_model: uint8").Output("output_subwords: string")
    .Output("output_ids: int64").Output("output_row_splits: int64").Output("start_values: int64")
    .Output("end_values: int64").ShapeFn(shape::Spec<"[*s], [m] -> [?], [?], [?], [?], [?]">);
REGISTER_OP("FindSourceOffsets")
    .Input("offsets_map: variant").Input("input_offsets_values: int64")
    .Input("input_offsets_splits: Tsplits").Output("output_offsets_values: int64")
    .Attr("Tsplits: {int32, int64} = int64").ShapeFn(shape::Spec<"_, [*v], [s] -> [*v]">);
REGISTER_OP("MaxSpanningTree")
    .Input("num_nodes: int32").Input("scores: T").Output("max_scores: T")
    .Output("argmax_sources: int32").Attr("T: {int32, float, double}")
    .Attr("forest: bool = false").ShapeFn(shape::Spec<"[b], [b, m, m] -> [b], [b, m]">);
REGISTER_OP("NormalizeUTF8")
    .Input("input: string").Output("output: string").Attr("normalization_form: string")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("NormalizeUTF8WithOffsetsMap")
    .Input("input: string").Output("output: string").Output("offsets_map: variant")
    .Attr("normalization_form: string").ShapeFn(shape::Spec<"[*i] -> [*i], [*i]">);
REGISTER_OP("PhraseTokenize")
    .Input("input_values: string").Input("phrase_model: uint8").Output("output_subwords: string")
    .Output("output_ids: int64").Output("output_row_splits: int64")
    .ShapeFn(shape::Spec<"[*v], [m] -> [?], [?], [?]">);
REGISTER_OP("RegexSplitWithOffsets")
    .Input("input: string").Input("delim_regex_pattern: string")
    .Input("keep_delim_regex_pattern: string").Output("tokens: string")
    .Output("begin_offsets: int64").Output("end_offsets: int64").Output("row_splits: int64")
    .ShapeFn(shape::Spec<"[*s], [*d], [*k] -> [?], [?], [?], [?]">);
REGISTER_OP("RougeL")
    .Input("hyp_values: Tvalues").Input("hyp_splits: Tsplits").Input("ref_values: Tvalues")
    .Input("ref_splits: Tsplits").Input("alpha: float").Output("f_measure: float")
    .Output("p_measure: float").Output("r_measure: float")
    .Attr("Tsplits: {int32, int64} = int64").Attr("Tvalues: type")
    .ShapeFn(shape::Spec<"[h], [s], [r], [s], [] -> [?], [?], [?]">);
REGISTER_OP("SentencepieceDetokenizeOp")
    .Input("sp_handle: resource").Input("input_values: T").Input("input_splits: Tsplits")
    .Input("add_bos: bool").Input("add_eos: bool").Input("reverse: bool").Output("output: string")
    .Attr("T: {int32, string} = int32").Attr("Tsplits: {int32, int64} = int64").Stateful()
    .Reads("sp_handle").ShapeFn(shape::Unknown);
REGISTER_OP("SentencepieceIdToStringOp")
    .Input("sp_handle: resource").Input("input: int32").Output("values: string").Stateful()
    .Reads("sp_handle").ShapeFn(shape::Spec<"[*h], [*i] -> [*i]">);
REGISTER_OP("SentencepieceOp")
    .Output("handle: resource").Attr("model: string = ''").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Attr("use_node_name_sharing: bool = false").Stateful()
    .MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("SentencepieceStringToIdOp")
    .Input("sp_handle: resource").Input("input: string").Output("values: int32").Stateful()
    .Reads("sp_handle").ShapeFn(shape::Spec<"[*h], [*i] -> [*i]">);
REGISTER_OP("SentencepieceTokenizeOp")
    .Input("sp_handle: resource").Input("input: string").Input("nbest_size: int32")
    .Input("alpha: float").Input("add_bos: bool").Input("add_eos: bool").Input("reverse: bool")
    .Output("output_values: out_type").Output("output_splits: Tsplits")
    .Attr("out_type: {int32, string} = int32").Attr("Tsplits: {int32, int64} = int64")
    .Attr("return_nbest: bool = false").Stateful().Reads("sp_handle").ShapeFn(shape::Unknown);
REGISTER_OP("SentencepieceTokenizeWithOffsetsOp")
    .Input("sp_handle: resource").Input("input: string").Input("nbest_size: int32")
    .Input("alpha: float").Input("add_bos: bool").Input("add_eos: bool").Input("reverse: bool")
    .Output("output_values: out_type").Output("output_splits: Tsplits")
    .Output("output_offset_starts: int64").Output("output_offset_limits: int64")
    .Attr("out_type: {int32, string} = int32").Attr("Tsplits: {int32, int64} = int64")
    .Attr("return_nbest: bool = false").Stateful().Reads("sp_handle").ShapeFn(shape::Unknown);
REGISTER_OP("SentencepieceVocabSizeOp")
    .Input("sp_handle: resource").Output("vocab_size: int32").Stateful().Reads("sp_handle")
    .ShapeFn(shape::Unknown);
REGISTER_OP("SplitMergeTokenizeWithOffsets")
    .Input("input_values: string").Input("labels: int32").Input("row_splits: int32")
    .Output("output_values: string").Output("output_row_splits: int64")
    .Output("start_values: int64").Output("limit_values: int64")
    .Attr("force_split_at_break_character: bool = true")
    .ShapeFn(shape::Spec<"[v], [l], [s] -> [?], [s], [?], [?]">);
REGISTER_OP("TFText>BoiseTagsToOffsets")
    .Input("input_token_begin_offsets: int32").Input("input_token_end_offsets: int32")
    .Input("input_boise_tags: string").Input("input_token_begin_row_splits: int64")
    .Input("input_token_end_row_splits: int64").Input("input_boise_tags_row_splits: int64")
    .Output("output_span_begin_offsets: int32").Output("output_span_end_offsets: int32")
    .Output("output_span_type: string").Output("output_row_splits: int64")
    .ShapeFn(shape::Spec<"[t], [t], [t], [s], [s], [s] -> [?], [?], [?], [s]">);
REGISTER_OP("TFText>ByteSplitByOffsets")
    .Input("input_values: string").Input("input_start_offsets: int32")
    .Input("input_end_offsets: int32").Input("input_row_splits: int64")
    .Output("output_values: string").Output("output_row_splits: int64")
    .ShapeFn(shape::Spec<"[*v], [*b], [*e], [s] -> [?], [s]">);
REGISTER_OP("TFText>ByteSplitWithOffsets")
    .Input("input_values: string").Output("output_bytes: uint8")
    .Output("output_row_splits: int64").Output("output_start_offsets: int32")
    .Output("output_end_offsets: int32").ShapeFn(shape::Spec<"[*v] -> [?], [?], [?], [?]">);
REGISTER_OP("TFText>FastSentencepieceDetokenize")
    .Input("sp_model: uint8").Input("input_values: int32").Input("input_splits: Tsplits")
    .Output("output: string").Attr("Tsplits: {int32, int64} = int64")
    .ShapeFn(shape::Spec<"[m], [v], [s] -> [?]">);
REGISTER_OP("TFText>FastSentencepieceTokenize")
    .Input("sp_model: uint8").Input("input: string").Input("nbest_size: int32")
    .Input("alpha: float").Input("add_bos: bool").Input("add_eos: bool").Input("reverse: bool")
    .Output("output_values: out_type").Output("output_splits: Tsplits")
    .Attr("out_type: {int32, string} = int32").Attr("Tsplits: {int32, int64} = int32")
    .ShapeFn(shape::Spec<"[m], [*v], [*n], [*a], [*b], [*e], [*r] -> [?], [?]">);
REGISTER_OP("TFText>FastWordpieceDetokenize")
    .Input("input_values: int32").Input("input_row_splits: int64").Input("wp_model: uint8")
    .Output("output_words: string").ShapeFn(shape::Spec<"[*v], [s], [m] -> [?]">);
REGISTER_OP("TFText>NgramsStringJoin")
    .Input("input_values: string").Input("input_row_splits: RAGGED_RANK * Tsplits")
    .Output("output_values: string").Output("output_row_splits: RAGGED_RANK * Tsplits")
    .Attr("width: int").Attr("axis: int").Attr("string_separator: string")
    .Attr("RAGGED_RANK: int >= 0").Attr("Tsplits: {int64} = int64").ShapeFn(shape::Unknown);
REGISTER_OP("TFText>OffsetsToBoiseTags")
    .Input("input_token_begin_offsets: int32").Input("input_token_end_offsets: int32")
    .Input("input_span_begin_offsets: int32").Input("input_span_end_offsets: int32")
    .Input("input_span_type: string").Input("input_token_begin_row_splits: int64")
    .Input("input_token_end_row_splits: int64").Input("input_span_begin_row_splits: int64")
    .Input("input_span_end_row_splits: int64").Input("input_span_type_row_splits: int64")
    .Input("input_use_strict_boundary_mode: bool").Output("output_boise_tags: string")
    .ShapeFn(shape::Spec<"[t], [t], [n], [n], [n], [s], [s], [s], [s], [s], [*f] -> [t]">);
REGISTER_OP("TFText>PhraseDetokenize")
    .Input("input_values: int32").Input("input_row_splits: int64").Input("phrase_model: uint8")
    .Output("output_words: string").ShapeFn(shape::Spec<"[v], [s], [m] -> [?]">);
REGISTER_OP("TFText>RoundRobinGenerateMasks")
    .Input("max_sequence_length: int32").Input("input_values: N * T")
    .Input("input_row_splits: N * Tsplits").Output("masks: N * bool").Attr("N: int >= 1")
    .Attr("T: type").Attr("Tsplits: {int32, int64}").ShapeFn(shape::Unknown);
REGISTER_OP("TFText>RoundRobinTrim")
    .Input("max_sequence_length: int32").Input("input_values: N * T")
    .Input("input_row_splits: N * Tsplits").Output("values: N * T")
    .Output("row_splits: N * Tsplits").Attr("N: int >= 1").Attr("T: type")
    .Attr("Tsplits: {int32, int64}").ShapeFn(shape::Unknown);
REGISTER_OP("TFText>Utf8Binarize")
    .Input("input_tokens: string").Output("output_binarizations: float")
    .Attr("word_length: int").Attr("bits_per_char: int").Attr("replacement_char: int")
    .ShapeFn(shape::Spec<"[t] -> [t, ?]">);
REGISTER_OP("TFText>WhitespaceTokenizeWithOffsetsV2")
    .Input("input_values: string").Input("input_config: string").Output("output_tokens: string")
    .Output("output_row_splits: int64").Output("output_start_offsets: int32")
    .Output("output_end_offsets: int32")
    .ShapeFn(shape::Spec<"[*v], [*c] -> [?], [?], [?], [?]">);
REGISTER_OP("TokenizerFromLogits")
    .Input("strings: string").Input("logits: float")
    .Input("force_split_at_break_character: bool").Output("output_values: string")
    .Output("row_splits: int64").Output("start_values: int64").Output("limit_values: int64")
    .ShapeFn(shape::Spec<"[v], [v, m, p], [] -> [?], [?], [?], [?]">);
REGISTER_OP("UnicodeScriptTokenizeWithOffsets")
    .Input("input_values: int32").Input("input_splits: Tsplits").Output("output_values: int32")
    .Output("output_values_inner_splits: Tsplits").Output("output_offset_starts: int64")
    .Output("output_offset_limits: int64").Output("output_outer_splits: Tsplits")
    .Attr("Tsplits: {int32, int64} = int64").Attr("keep_whitespace: bool = false")
    .ShapeFn(shape::Spec<"[*v], [s] -> [?], [?], [?], [?], [s]">);
REGISTER_OP("WhitespaceTokenizeWithOffsets")
    .Input("input_values: int32").Input("input_splits: Tsplits").Output("output_values: int32")
    .Output("output_values_inner_splits: Tsplits").Output("output_offset_starts: int64")
    .Output("output_offset_limits: int64").Output("output_outer_splits: Tsplits")
    .Attr("Tsplits: {int32, int64} = int64")
    .ShapeFn(shape::Spec<"[*v], [s] -> [?], [?], [?], [?], [s]">);
REGISTER_OP("WordpieceTokenizeWithOffsets")
    .Input("input_values: string").Input("vocab_lookup_table: resource")
    .Output("output_values: string").Output("output_row_lengths: int64")
    .Output("start_values: int64").Output("limit_values: int64").Attr("suffix_indicator: string")
    .Attr("max_bytes_per_word: int").Attr("max_chars_per_token: int = 0")
    .Attr("use_unknown_token: bool").Attr("unknown_token: string")
    .Attr("split_unknown_characters: bool = false")
    .Attr("output_row_partition_type: string = 'row_lengths'").Stateful()
    .Reads("vocab_lookup_table").ShapeFn(shape::Unknown);

}  // namespace tessera
