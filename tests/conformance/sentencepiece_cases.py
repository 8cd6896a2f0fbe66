"""Graphs of TensorFlow Text's SentencePiece ops, with small models that are trained here."""

import io
import pathlib
import tempfile

import numpy as np
import sentencepiece
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the ops
from tensorflow.python.framework import op_def_library

from conformance import graph_cases

_CORPUS = [
    "the cat sat on the mat and the other cats sat on other mats",
    "she sells sea shells by the sea shore; the shells she sells are sea shells",
    "unaffable, affable and affably: the unaffable man was never affable again!",
    "Hello, World! (again) Hello again, world.",
    "東京 タワー に 行きました。 東京 タワー",
    "Привет мир, как дела? Привет!",
    "1 2 3 4 10 20 30 100 2000",
] * 10

TEXTS = [
    "",
    " ",
    "the cat",
    "  she  sells\tsea shells  ",
    "unaffable catsat [X]ther<sep>mats <s> </s> <unk>",
    "東京タワー 🙂🙂 日本",
    "ÀÉﬁ ſ① the Ünknown",
    "a\u2581b \u3000c",
    b"bad \xff\xfe byte \xe2\x80",
    "<0x41> Z",
]

# Decompositions of a few characters, one that disappears, and white space.
_RULES = "C0\t41 300\nFB01\t66 69\n2460\t31\nAD\t\n3000\t20\n9\t20\n41 42\t58\n"

_DEFINED = {"user_defined_symbols": ["<sep>", "[X]", "er"]}


def _train(**options):
    stream = io.BytesIO()
    with tempfile.TemporaryDirectory() as directory:
        if options.pop("has_rules", False):
            rules = pathlib.Path(directory) / "rules.tsv"
            rules.write_text(_RULES)
            options["normalization_rule_tsv"] = str(rules)
        else:
            options["normalization_rule_name"] = "identity"
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(_CORPUS),
            model_writer=stream,
            hard_vocab_limit=False,
            num_threads=1,
            minloglevel=2,
            **options,
        )
    return stream.getvalue()


def unigram_with_rules():
    """A serialised model that changes characters before it cuts text."""
    return _train(model_type="unigram", vocab_size=100, has_rules=True)


def _models():
    return {
        "unigram": _train(model_type="unigram", vocab_size=120, has_rules=True, **_DEFINED),
        "unigram_suffix": _train(
            model_type="unigram",
            vocab_size=110,
            treat_whitespace_as_suffix=True,
            remove_extra_whitespaces=False,
            unk_surface=" ? ",
        ),
        "unigram_bytes": _train(
            model_type="unigram",
            vocab_size=380,
            byte_fallback=True,
            character_coverage=0.98,
            add_dummy_prefix=False,
        ),
        "bpe": _train(model_type="bpe", vocab_size=140, has_rules=True, **_DEFINED),
        "bpe_bytes": _train(
            model_type="bpe",
            vocab_size=400,
            byte_fallback=True,
            character_coverage=0.98,
            remove_extra_whitespaces=False,
        ),
    }


def _strings(values):
    return tf.constant(np.array([v if isinstance(v, bytes) else v.encode() for v in values], object))


def _graph(model):
    """Everything that can be asked of a model, in all ways."""

    def build():
        handle = op_def_library.apply_op(
            "SentencepieceOp", model=model, container="", shared_name="", use_node_name_sharing=False
        )

        def ask(op, splits_type=tf.int64, bos=False, eos=False, reverse=False, **args):
            return op_def_library.apply_op(
                op, sp_handle=handle, add_bos=bos, add_eos=eos, reverse=reverse, **args
            )

        texts, expect = _strings(TEXTS), []
        frames = [{}, {"bos": True}, {"eos": True, "reverse": True}, {"bos": True, "eos": True}]
        for out_type in (tf.int32, tf.string):
            for frame in frames:
                pieces, splits = ask(
                    "SentencepieceTokenizeOp",
                    input=texts,
                    nbest_size=0,
                    alpha=1.0,
                    out_type=out_type,
                    Tsplits=tf.int32,
                    return_nbest=False,
                    **frame,
                )
                text = ask(
                    "SentencepieceDetokenizeOp", input_values=pieces, input_splits=splits, **frame
                )
                expect += [pieces, splits, text]
            expect += ask(
                "SentencepieceTokenizeWithOffsetsOp",
                input=texts,
                nbest_size=1,
                alpha=1.0,
                out_type=out_type,
                Tsplits=tf.int64,
                return_nbest=False,
            )
        size = op_def_library.apply_op("SentencepieceVocabSizeOp", sp_handle=handle)
        names = op_def_library.apply_op(
            "SentencepieceIdToStringOp", sp_handle=handle, input=list(range(40))
        )
        ids = op_def_library.apply_op(
            "SentencepieceStringToIdOp", sp_handle=handle, input=[*TEXTS[2:5], "<unk>", "<s>", "er"]
        )
        random = np.random.RandomState(3).randint(0, 60, 40).astype(np.int32)
        text = ask(
            "SentencepieceDetokenizeOp",
            input_values=random,
            input_splits=tf.constant([0, 0, 9, 20, 40], tf.int64),
        )
        return graph_cases.Plan([handle], [*expect, size, names, ids, text])

    return build


def graphs():
    """All cases by name."""
    return {f"sentencepiece_{name}": _graph(model) for name, model in _models().items()}
