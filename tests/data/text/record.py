#!/usr/bin/env python3
"""Saves models of whole preprocessing with TensorFlow Text: MODEL.pb.xz, a saved_model.pb without
variables, and MODEL.json, its answers.

    "$(scripts/python_env text)" tests/data/text/record.py

Each takes text and gives what a language model takes. Vocabularies are small: they come from the
sentences below.
"""
import io
import json
import lzma
import os
import pathlib
import sys
import tempfile

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import sentencepiece
import tensorflow as tf
import tensorflow_text as tf_text
from tensorflow.core.protobuf import saved_model_pb2

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1]))

from conformance import debug_information

SENTENCES = (
    "The server swaps its models between two requests.",
    "Every model answers, and none is lost!",
    "Größere Modelle — ähnliche Antworten?",
    "模型 serves 42 tokens.",
    "unswappable unanswerable",
    "",
)
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
PIECES = "the server swap ##s its model between two request every answer and none is lost un ##able"


def bert_vocabulary():
    characters = sorted(set("".join(SENTENCES).lower()) - {" "})
    words = [*SPECIAL, *PIECES.split(), *characters]
    words += (f"##{c}" for c in characters if c.isalpha())
    return list(dict.fromkeys(words))


class Bert(tf.Module):
    """Pairs of texts as BERT takes them: trimmed in turns, joined, and filled up to 16 tokens."""

    def __init__(self):
        super().__init__()
        self.vocabulary = bert_vocabulary()
        table = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(
                self.vocabulary, tf.range(len(self.vocabulary), dtype=tf.int64)
            ),
            num_oov_buckets=1,
        )
        self.tokenizer = tf_text.BertTokenizer(table, lower_case=True, token_out_type=tf.int64)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, name="first"),
            tf.TensorSpec([None], tf.string, name="second"),
        ]
    )
    def serve(self, first, second):
        segments = [self.tokenizer.tokenize(part).merge_dims(-2, -1) for part in (first, second)]
        segments = tf_text.RoundRobinTrimmer(13).trim(segments)
        tokens, types = tf_text.combine_segments(segments, start_of_sequence_id=2, end_of_segment_id=3)
        ids, mask = tf_text.pad_model_inputs(tokens, 16)
        types, _ = tf_text.pad_model_inputs(types, 16)
        return {"ids": ids, "mask": mask, "types": types}


class WordPiece(tf.Module):
    """Splits text at spaces and into pieces in one op, and gives pairs of pieces too."""

    def __init__(self):
        super().__init__()
        self.tokenizer = tf_text.FastWordpieceTokenizer(
            bert_vocabulary(), token_out_type=tf.string, no_pretokenization=False
        )

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def serve(self, text):
        pieces = self.tokenizer.tokenize(text)
        pairs = tf_text.ngrams(pieces, 2, axis=-1, reduction_type=tf_text.Reduction.STRING_JOIN)
        return {"pieces": pieces.to_tensor(""), "pairs": pairs.to_tensor("")}


class SentencePiece(tf.Module):
    """Ids of pieces and what they spell."""

    def __init__(self):
        super().__init__()
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(SENTENCES[:5] * 4),
            model_writer=model,
            vocab_size=72,
            character_coverage=1.0,
            hard_vocab_limit=False,
            normalization_rule_name="identity",
            num_threads=1,
            minloglevel=2,
        )
        self.tokenizer = tf_text.SentencepieceTokenizer(
            model.getvalue(), out_type=tf.int32, add_bos=True, add_eos=True
        )

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def serve(self, text):
        ids = self.tokenizer.tokenize(text)
        return {"ids": ids.to_tensor(-1), "spelt": self.tokenizer.detokenize(ids)}


def stripped(serialized):
    """Returns a SavedModel without what only debuggers and Python read."""
    model = saved_model_pb2.SavedModel.FromString(serialized)
    debug_information.strip(model)
    model.meta_graphs[0].ClearField("object_graph_def")
    return model.SerializeToString(deterministic=True)


def as_json(tensor):
    values = tensor.numpy().tolist()

    def decoded(value):
        if isinstance(value, list):
            return [decoded(item) for item in value]
        return value.decode() if isinstance(value, bytes) else value

    return decoded(values)


def record(name, module, inputs):
    with tempfile.TemporaryDirectory() as path:
        tf.saved_model.save(module, path, signatures=module.serve)
        graph = pathlib.Path(path, "saved_model.pb").read_bytes()
    (FOLDER / f"{name}.pb.xz").write_bytes(lzma.compress(stripped(graph), preset=9))
    outputs = module.serve(**{key: tf.constant(value) for key, value in inputs.items()})
    answer = {"inputs": inputs, "outputs": {key: as_json(outputs[key]) for key in sorted(outputs)}}
    file = FOLDER / f"{name}.json"
    file.write_text(json.dumps(answer, ensure_ascii=False) + "\n", encoding="utf-8")


def main():
    sentences = list(SENTENCES)
    record("bert", Bert(), {"first": sentences, "second": sentences[::-1]})
    record("wordpiece", WordPiece(), {"text": sentences})
    record("sentencepiece", SentencePiece(), {"text": sentences})


if __name__ == "__main__":
    main()
