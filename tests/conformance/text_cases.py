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
    tokenize.add([_strings(_words(20, seed=4)), _wordpiece_model(False, max_bytes=4)])
    tokenize.add([_strings([]), _wordpiece_model(False)])
    tokenize.add([_strings(_words(50, seed=5)), _wordpiece_model(False, suffix="")])
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
    ]
    paths = [file.write(directory / "ops") for file in files]
    cases = {**graphs(), **sentencepiece_cases.graphs()}
    return paths + graph_cases.record(directory / "graphs", cases)


if __name__ == "__main__":
    for path in record(sys.argv[1]):
        print(f"{path.stat().st_size:8} {path}")
