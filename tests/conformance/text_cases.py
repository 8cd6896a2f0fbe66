"""Calls of TensorFlow Text's ops; tests/data/record lets that library answer them.

Each function returns the recorded calls of one op. Bad calls are recorded with the library's code.
"""

import pathlib
import sys

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the ops
from tensorflow.python.framework import op_def_library
from tensorflow_text.core.pybinds import (
    pywrap_fast_bert_normalizer_model_builder as normalizer_builder,
)
from tensorflow_text.core.pybinds import (
    pywrap_fast_wordpiece_tokenizer_model_builder as wordpiece_builder,
)
from tensorflow_text.core.pybinds import pywrap_model_converter as sentencepiece_converter
from tensorflow_text.core.pybinds import pywrap_phrase_tokenizer_model_builder as phrase_builder
from tensorflow_text.core.pybinds import (
    pywrap_whitespace_tokenizer_config_builder as whitespace_builder,
)

from conformance import graph_cases, sentencepiece_cases
from conformance.recording import OpFile

raw = tf.raw_ops

# Text of several scripts, with combining marks, punctuation, symbols and white space of all kinds;
# the last ones are not valid UTF-8.
_TEXTS = [
    "",
    "hello",
    "  Hello, World!  (again) \t\n",
    "Ünïcödé ÀÉÎ ſt ﬁn ß ẞ İstanbul",
    "e\u0301a\u0300 \u1e9b\u0323 ① ½ ㎏",
    "東京 タワー ﾃｽﾄ 中文,标点。",
    "Привет мир שָׁלוֹם العربية हिन्दी",
    "a\u00a0b\u2003c\u3000d\u200be\ufefff",
    "##a a## ## [UNK] unaffable's x.y",
    "🙂 emoji 👩\u200d🚀 $5+€3=<£>^`|~",
    b"bad \xff byte \xe2\x80 cut \xc0\x80",
    b"zero\0byte  a",
]
_VOCABULARY = (
    "[UNK] [CLS] hello world , ! ( ) a ##a un ##aff ##able ##ably x y . ' s ab ##abc ##b ##bc "
    "##z abcd 東 京 タ ##ワー при ##вет é e # ## $ ##llo hel zero byte bad cut"
).split()


def _strings(values):
    return np.array([v if isinstance(v, bytes) else v.encode() for v in values], object)


def _bytes(model):
    return np.frombuffer(model, np.uint8)


def _wordpiece_model(splits_text, detokenizes=True, max_bytes=20, suffix="##"):
    return _bytes(
        wordpiece_builder.build_fast_wordpiece_model(
            _VOCABULARY, max_bytes, suffix, "[UNK]", not splits_text, detokenizes
        )
    )


def _words(count, seed):
    """Random words, most of them of pieces of the vocabulary."""
    random = np.random.RandomState(seed)
    parts = [piece.replace("##", "") or "#" for piece in _VOCABULARY] + ["q", "ж", " ", "-"]
    return ["".join(random.choice(parts, random.randint(1, 7))) for _ in range(count)]


def case_fold():
    file = OpFile("CaseFoldUTF8")
    file.add([_strings(_TEXTS)])
    file.add([np.array([[b"ABC"], [b"\xc3\x84"]], object)])
    return file


def normalize():
    file = OpFile("NormalizeUTF8")
    for form in ("NFC", "NFD", "NFKC", "NFKD", "nfkd", "other"):
        file.add([_strings(_TEXTS)], normalization_form=form)
    return file


def regex_split():
    file = OpFile("RegexSplitWithOffsets")

    def add(delimiter, kept="", texts=_TEXTS):
        file.add([_strings(texts), np.array(delimiter, object), np.array(kept, object)])

    punctuation = r"[!-/]|[:-@]|[\[-`]|[{-~]|[\p{P}]"
    add(r"(\s+)")
    add(rf"(\s+|{punctuation}|[\x{{4E00}}-\x{{9FFF}}])", rf"({punctuation}|[\x{{4E00}}-\x{{9FFF}}])")
    add(r"(\s)", r"\s")
    add(r"\s")
    add(r"a(b+)c", ".*", ["abbc", "xabcabbcx", "abc"])
    add(r"(^a)", "", ["aab a"])
    add(r"(\s)", "", [])
    add(r"(")
    add(r"( )", r"[")
    return file


def wordpiece_models():
    tokenize = OpFile("FastWordpieceTokenizeWithOffsets")
    for splits_text in (False, True):
        model = _wordpiece_model(splits_text)
        tokenize.add([_strings([*_TEXTS, *_words(200, seed=3)]), model])
    tokenize.add([_strings([]), _wordpiece_model(False)])
    # Some words are too long for this one, whose pieces within words have no mark.
    tokenize.add([_strings(_words(50, seed=5)), _wordpiece_model(False, max_bytes=8, suffix="")])
    detokenize = OpFile("TFText>FastWordpieceDetokenize")
    ids = np.random.RandomState(6).randint(0, len(_VOCABULARY), 30).astype(np.int32)
    splits = np.array([0, 4, 4, 17, 30], np.int64)
    detokenize.add([ids, splits, _wordpiece_model(False)])
    detokenize.add([ids[:0], splits[:1], _wordpiece_model(False)])
    detokenize.add([ids, splits, _wordpiece_model(False, detokenizes=False)])
    return [tokenize, detokenize]


def bert_normalize():
    file = OpFile("FastBertNormalize")
    keeps_case, lowers_case = (
        _bytes(normalizer_builder.build_fast_bert_normalizer_model(lower_case))
        for lower_case in (False, True)
    )
    file.add([_strings(_TEXTS), lowers_case], get_offsets=True)
    for get_offsets in (False, True):
        file.add([_strings(_TEXTS), keeps_case], get_offsets=get_offsets)
        file.add([_strings([]), keeps_case], get_offsets=get_offsets)
    return file


def whitespace():
    config = np.array(whitespace_builder.build_whitespace_tokenizer_config(), object)
    file = OpFile("TFText>WhitespaceTokenizeWithOffsetsV2")
    file.add([_strings(_TEXTS), config])
    file.add([_strings([]), config])
    return file


def character_runs(op, **attrs):
    file = OpFile(op)
    for splits_type in (np.int32, np.int64):
        for keeps in attrs.get("keep_whitespace", [None]):
            texts = [t for t in _TEXTS if isinstance(t, str)]
            values = np.array([ord(c) for c in "".join(texts)], np.int32)
            splits = np.cumsum([0, *map(len, texts)]).astype(splits_type)
            more = {} if keeps is None else {"keep_whitespace": keeps}
            file.add([values, splits], Tsplits=splits_type, **more)
            if attrs:  # the op without any ends the process when there is no run
                file.add([values[:0], splits[:1]], Tsplits=splits_type, **more)
            strange = np.array([-1, 0x110000, 0xD800, 32, 0x10FFFF, 97], np.int32)
            file.add([strange, np.array([0, 6], splits_type)], Tsplits=splits_type, **more)
    return file


def byte_split():
    whole = OpFile("TFText>ByteSplitWithOffsets")
    whole.add([_strings(_TEXTS)])
    whole.add([_strings([])])
    parts = OpFile("TFText>ByteSplitByOffsets")

    def add(texts, begins, ends, splits):
        ints = [np.array(begins, np.int32), np.array(ends, np.int32), np.array(splits, np.int64)]
        parts.add([_strings(texts), *ints])

    add(["hello", "", "world"], [0, 2, 5, 1], [2, 5, 5, 3], [0, 3, 3, 4])
    add(["hello"], [0], [6], [0, 1])
    add(["hello"], [6], [6], [0, 1])
    add(["hello"], [3], [2], [0, 1])
    add([], [], [], [0])
    return [whole, parts]


def round_robin(op):
    file = OpFile(op)

    def add(budget, rows, dtype=np.int32, splits_type=np.int64):
        values = [np.arange(sum(sizes)).astype(dtype) for sizes in rows]
        splits = [np.cumsum([0, *sizes]).astype(splits_type) for sizes in rows]
        file.add([np.int32(budget), *values, *splits], N=len(rows), T=dtype, Tsplits=splits_type)

    rows = [[3, 2, 0, 9], [1, 6, 0, 9], [0, 3, 0, 9]]
    for budget in (0, 1, 4, 5, 6, 16, 100):
        add(budget, rows)
        add(budget, rows[1:2], np.float64, np.int32)
    add(7, [[20], [20], [2], [20]], np.int64)
    return file


def rouge_l():
    file = OpFile("RougeL")

    def add(hypotheses, references, alpha, dtype=np.int32, splits_type=np.int64):
        values = [
            _strings(map(str, sum(side, []))) if dtype is np.object_ else np.array(sum(side, []), dtype)
            for side in (hypotheses, references)
        ]
        splits = [np.cumsum([0, *map(len, side)]).astype(splits_type)
                  for side in (hypotheses, references)]
        kinds = {"Tvalues": tf.string if dtype is np.object_ else dtype, "Tsplits": splits_type}
        file.add([values[0], splits[0], values[1], splits[1], np.float32(alpha)], **kinds)

    hypotheses = [[1, 2, 3, 4, 1, 7], [], [5], [9, 8, 7], [1, 1, 2, 1]]
    references = [[1, 3, 1, 2, 7, 7, 4], [1], [], [3, 4], [1, 2, 1, 1, 2]]
    add(hypotheses, references, 0.3)
    add(hypotheses, references, -1.0, np.object_, np.int32)
    add(hypotheses, references, 1.5)
    return file


def constrained_sequence():
    file = OpFile("ConstrainedSequence")
    random = np.random.RandomState(8)

    def add(shape, lengths, viterbi, logs, ends, allowed=None, weights=None, splits_type=np.int64):
        size = shape[-1] + ends
        matrices = [
            np.zeros([0, 0], bool) if allowed is None else random.rand(size, size) < allowed,
            np.zeros([0, 0], np.float32)
            if weights is None
            else (random.rand(size, size) * weights).astype(np.float32),
        ]
        scores = (random.rand(*shape) * 3 - logs).astype(np.float32)
        file.add(
            [scores, np.array(lengths), *matrices],
            Tin=np.array(lengths).dtype,
            Tsplits=splits_type,
            use_viterbi=bool(viterbi),
            use_log_space=bool(logs),
            use_start_and_end_states=bool(ends),
        )

    for viterbi, logs, ends in ((0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 1, 1)):
        add([3, 4, 3], [4, 0, 3], viterbi, logs, ends, 0.6, 2)
    add([4, 2], [4], True, False, True, None, 1, np.int32)
    add([2, 3, 3], [3, 1], True, False, True, 0.9, -1)
    return file


def max_spanning_tree():
    file = OpFile("MaxSpanningTree")
    random = np.random.RandomState(9)

    def add(sizes, width, dtype, forest, values=20, share_of_arcs=1.0):
        scores = random.randint(-values, values, [len(sizes), width, width]).astype(dtype)
        if share_of_arcs < 1:
            scores[random.rand(*scores.shape) > share_of_arcs] = -np.inf
        file.add([np.array(sizes, np.int32), scores], T=dtype, forest=forest)

    for forest in (False, True):
        add([1, 4, 7, 5], 7, np.int32, forest)
        add([5, 6], 6, np.float32, forest, 20, 0.7)
    add([4, 4], 4, np.float64, False, 20, 0.2)
    return file


def labelled_characters():
    texts = [*_TEXTS[4:6], "a b", " x\u3000\u00a0y ", b"\xe2( b\x80"]
    widths = [len(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)
              for text in texts]
    random = np.random.RandomState(10)
    splitter = OpFile("SplitMergeTokenizeWithOffsets")
    lengths = [width + 2 for width in widths]
    splits = np.cumsum([0, *lengths]).astype(np.int32)
    labels = random.randint(0, 2, splits[-1]).astype(np.int32)
    scorer = OpFile("TokenizerFromLogits")
    logits = random.randint(-3, 3, [len(texts), max(lengths), 2]).astype(np.float32)
    for at_space in (True, False):
        values = _strings(texts)
        splitter.add([values, labels, splits], force_split_at_break_character=at_space)
        scorer.add([values, logits, np.array(at_space)])
    splitter.add([values, np.ones_like(labels), splits], force_split_at_break_character=False)
    return [splitter, scorer]


def utf8_binarize():
    file = OpFile("TFText>Utf8Binarize")
    few = [*_TEXTS[4:6], *_TEXTS[9:11]]
    for length, bits, replacement in ((2, 5, -7), (1, 24, 65533)):
        file.add([_strings(few)], word_length=length, bits_per_char=bits,
                 replacement_char=replacement)
    return file


def boise_tags():
    to_tags = OpFile("TFText>OffsetsToBoiseTags")
    random = np.random.RandomState(11)

    def ranges(count):
        begins = np.cumsum(random.randint(0, 5, count))
        return begins.astype(np.int32), (begins + random.randint(1, 6, count)).astype(np.int32)

    for strict in (False, True):
        tokens, spans = [7, 0, 9, 6], [2, 1, 3, 0]
        token_splits, span_splits = (np.cumsum([0, *rows]) for rows in (tokens, spans))
        columns = [
            np.concatenate(column)
            for rows in (tokens, spans)
            for column in zip(*(ranges(count) for count in rows))
        ]
        types = _strings(["loc", "per", "", "a-b", "x", "y"])
        to_tags.add([*columns, types, *[token_splits] * 2, *[span_splits] * 3, np.array(strict)])
    to_spans = OpFile("TFText>BoiseTagsToOffsets")
    rows = [
        "O B-loc I-loc E-loc O S-per O",
        "B-a O I-a E-b E-c",
        "",
        "B-a B-b S-c I-d X I-e O O- S- B-",
        "I-x X",
    ]
    tags = [row.split() for row in rows]
    splits = np.cumsum([0, *map(len, tags)])
    begins = (3 * np.arange(splits[-1])).astype(np.int32)
    to_spans.add([begins, begins + 2, _strings(sum(tags, [])), splits, splits, splits])
    return [to_tags, to_spans]


def phrases():
    vocabulary = [
        *"I have hello world can . ! 't <UNK>".split(),
        *("a dream", "I have a", "hello world", "東 京", "dream"),
    ]
    texts = [
        *("I have a dream", "  I have  a dream!", "I haven't", "can't hello. .", "hello worlds"),
        *("", " ", "東 京 東 I", "I have a", "hello\u3000world a\u00a0dream", b"a \xff dream"),
    ]
    tokenize, detokenize = OpFile("PhraseTokenize"), OpFile("TFText>PhraseDetokenize")
    model = _bytes(phrase_builder.build_phrase_model(vocabulary, "<UNK>", True, 0, True))
    tokenize.add([_strings(texts), model])
    ids = np.array([0, 1, 5, 3, 9, 13, 7, 2, 8, 6], np.int32)
    detokenize.add([ids, np.array([0, 0, 4, 7, 10]), model])
    return [tokenize, detokenize]


def fast_sentencepiece():
    model = sentencepiece_cases.unigram_with_rules()
    tokenize = OpFile("TFText>FastSentencepieceTokenize")
    detokenize = OpFile("TFText>FastSentencepieceDetokenize")
    encoder = _bytes(sentencepiece_converter.convert_sentencepiece_model(model))
    texts = [*sentencepiece_cases.TEXTS, "she  sells\t\t sea \n", "zzz東qq she"]
    for reverse in (False, True):
        flags = [np.array(flag) for flag in (True, not reverse, reverse)]
        tokenize.add([encoder, _strings(texts), np.int32(0), np.float32(0), *flags],
                     out_type=tf.int32, Tsplits=tf.int32)
    decoder = _bytes(sentencepiece_converter.convert_sentencepiece_model_for_decoder(model))
    ids = np.random.RandomState(12).randint(0, 90, 40).astype(np.int32)
    detokenize.add([decoder, ids, np.array([0, 5, 5, 20, 40])], Tsplits=tf.int64)
    return [tokenize, detokenize]


def _offsets_map(form):
    def build():
        texts = [*_TEXTS[3:6], _TEXTS[10]]
        normal, maps = op_def_library.apply_op(
            "NormalizeUTF8WithOffsetsMap",
            input=tf.constant(_strings(texts)),
            normalization_form=form,
        )
        offsets = [[-1, *range(0, 40, 3), 200] for _ in texts]
        splits = np.cumsum([0, *map(len, offsets)])
        found = op_def_library.apply_op(
            "FindSourceOffsets",
            offsets_map=maps,
            input_offsets_values=tf.constant(sum(offsets, []), tf.int64),
            input_offsets_splits=tf.constant(splits, tf.int64),
        )
        return graph_cases.Plan([tf.no_op()], [normal, found])

    return build


def _ngrams():
    letters, expect = tf.constant(list("abcde")), []
    for width in (1, 2, 4):
        for splits in ([], [[0, 2, 2, 5]], [[0, 1, 3], [0, 2, 2, 5]]):
            values, new_splits = op_def_library.apply_op(
                "TFText>NgramsStringJoin",
                input_values=letters,
                input_row_splits=[tf.constant(of_dimension, tf.int64) for of_dimension in splits],
                width=width,
                axis=-1,
                string_separator="|",
            )
            expect += [values, *new_splits]
    return graph_cases.Plan([tf.no_op()], expect)


def _wordpiece(words, vocabulary=None, **attrs):
    def build():
        table = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name="pieces")
        pieces = vocabulary or _VOCABULARY
        fill = raw.LookupTableImportV2(
            table_handle=table, keys=pieces, values=tf.range(len(pieces), dtype=tf.int64)
        )
        attributes = {
            "suffix_indicator": "##",
            "max_bytes_per_word": 20,
            "max_chars_per_token": 0,
            "use_unknown_token": True,
            "unknown_token": "[UNK]",
            "split_unknown_characters": False,
            "output_row_partition_type": "row_lengths",
        }
        outputs = op_def_library.apply_op(
            "WordpieceTokenizeWithOffsets",
            input_values=tf.constant(_strings(words)),
            vocab_lookup_table=table,
            **{**attributes, **attrs},
        )
        return graph_cases.Plan([fill], list(outputs))

    return build


def graphs():
    """Graphs of the op that looks pieces up in a table."""
    words = [*_words(60, seed=7), *_TEXTS]
    return {
        "text_ngrams": _ngrams,
        "text_offsets_map_nfkc": _offsets_map("nfkc"),
        "text_wordpiece": _wordpiece(words),
        "text_wordpiece_keeps_unknown": _wordpiece(words, use_unknown_token=False),
        "text_wordpiece_short_pieces": _wordpiece(words, max_chars_per_token=2),
        "text_wordpiece_splits_unknown": _wordpiece(words, split_unknown_characters=True),
        "text_wordpiece_splits_kept": _wordpiece(
            words, split_unknown_characters=True, use_unknown_token=False
        ),
        "text_wordpiece_row_splits": _wordpiece(
            words, output_row_partition_type="row_splits", max_bytes_per_word=6
        ),
        "text_wordpiece_no_words": _wordpiece([]),
    }


def record(directory):
    """Writes all files below DIRECTORY, and returns their paths."""
    directory = pathlib.Path(directory)
    files = [
        case_fold(),
        normalize(),
        regex_split(),
        *wordpiece_models(),
        bert_normalize(),
        whitespace(),
        character_runs("WhitespaceTokenizeWithOffsets"),
        character_runs("UnicodeScriptTokenizeWithOffsets", keep_whitespace=[False, True]),
        *byte_split(),
        round_robin("TFText>RoundRobinTrim"),
        round_robin("TFText>RoundRobinGenerateMasks"),
        rouge_l(),
        constrained_sequence(),
        max_spanning_tree(),
        *labelled_characters(),
        utf8_binarize(),
        *boise_tags(),
        *phrases(),
        *fast_sentencepiece(),
    ]
    paths = [file.write(directory / "ops") for file in files]
    cases = {**graphs(), **sentencepiece_cases.graphs()}
    return paths + graph_cases.record(directory / "graphs", cases)


if __name__ == "__main__":
    for path in record(sys.argv[1]):
        print(f"{path.stat().st_size:8} {path}")
