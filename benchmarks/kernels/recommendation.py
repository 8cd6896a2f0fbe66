"""Recommendation and text: embedding bags, sparse and ragged tensors, look-ups, strings, parsing."""

import numpy as np
import tensorflow as tf

from kernels.case import (Case, fixed, floats, integers, sorted_integers, strings, texts, words)

raw = tf.raw_ops
BAGS, VALUES = 1024, 16384


def sparse_indices(rows, columns, count):
    def make(rng):
        flat = np.sort(rng.choice(rows * columns, count, replace=False))
        return np.stack([flat // columns, flat % columns], 1).astype(np.int64)

    return make


def splits(rows, values):
    return lambda rng: np.concatenate(
        [[0], np.sort(rng.integers(0, values, rows - 1)), [values]]).astype(np.int64)


def sparse(shape):
    return lambda indices, values: tf.SparseTensor(indices, values, shape)


def look_up(keys):
    """Positions of `keys` in a vocabulary, whose initialisation waits for no other copy."""
    def make(x):
        with tf.control_dependencies(None):
            values = tf.range(len(keys), dtype=tf.int64)
            table = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(tf.constant(keys), values), -1)
        return table.lookup(x)

    return make


def serialised_example(rng):
    feature = {f"i{k}": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(v)]))
               for k, v in enumerate(rng.integers(0, 10**6, 13))}
    feature |= {f"s{k}": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"%08x" % v]))
                for k, v in enumerate(rng.integers(0, 2**31, 26))}
    feature["f"] = tf.train.Feature(float_list=tf.train.FloatList(
        value=rng.standard_normal(32).tolist()))
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def parse(serialised):
    spec = {f"i{k}": tf.io.FixedLenFeature([], tf.int64) for k in range(13)}
    spec |= {f"s{k}": tf.io.VarLenFeature(tf.string) for k in range(26)}
    spec["f"] = tf.io.FixedLenFeature([32], tf.float32)
    parsed = tf.io.parse_example(serialised, spec)
    return [parsed["f"], parsed["i0"], parsed["s0"].values, parsed["s25"].indices]


def segments(name):
    op = getattr(raw, name)
    return lambda x, i, s: op(data=x, indices=i, segment_ids=s)


BAG_INPUTS = [floats(50000, 32), integers(50000, VALUES), sorted_integers(BAGS, VALUES)]
SPARSE_INPUTS = [sparse_indices(1024, 1000, VALUES), floats(VALUES)]
JSON = b'{"user": %d, "items": [1, 2, 3], "name": "word"}'

CASES = [
    Case("SparseSegmentSum 50000x32, 1024 bags", segments("SparseSegmentSum"), BAG_INPUTS),
    Case("SparseSegmentMean 50000x32, 1024 bags", segments("SparseSegmentMean"), BAG_INPUTS),
    Case("SparseSegmentSqrtN 50000x32, 1024 bags", segments("SparseSegmentSqrtN"), BAG_INPUTS),
    Case("SparseSegmentSumWithNumSegments",
         lambda x, i, s: raw.SparseSegmentSumWithNumSegments(
             data=x, indices=i, segment_ids=s, num_segments=BAGS + 10), BAG_INPUTS),
    Case("EmbeddingLookupSparse 50000x32, mean",
         lambda x, i, v: tf.nn.embedding_lookup_sparse(
             x, tf.SparseTensor(i, v, [BAGS, 1000]), None, combiner="mean"),
         [floats(50000, 32), sparse_indices(BAGS, 1000, VALUES),
          integers(50000, VALUES, dtype=np.int64)]),
    Case("SafeEmbeddingLookupSparse 50000x32, weighted",
         lambda x, i, v, w: tf.nn.safe_embedding_lookup_sparse(
             x, tf.SparseTensor(i, v, [BAGS, 1000]), tf.SparseTensor(i, tf.abs(w), [BAGS, 1000])),
         [floats(50000, 32), sparse_indices(BAGS, 1000, VALUES),
          integers(50000, VALUES, dtype=np.int64), floats(VALUES)]),
    Case("SparseTensorDenseMatMul 1024x1000 by 64",
         lambda i, v, d: tf.sparse.sparse_dense_matmul(tf.SparseTensor(i, v, [1024, 1000]), d),
         [*SPARSE_INPUTS, floats(1000, 64)]),
    Case("SparseToDense 1024x1000",
         lambda i, v: tf.sparse.to_dense(tf.SparseTensor(i, v, [1024, 1000])), SPARSE_INPUTS),
    Case("SparseReorder 16384",
         lambda i, v: tf.sparse.reorder(tf.SparseTensor(i[::-1], v, [1024, 1000])), SPARSE_INPUTS),
    Case("SparseConcat 2 of 16384",
         lambda i, v: tf.sparse.concat(1, [tf.SparseTensor(i, v, [1024, 1000])] * 2),
         SPARSE_INPUTS),
    Case("SparseReshape 16384",
         lambda i, v: tf.sparse.reshape(tf.SparseTensor(i, v, [1024, 1000]), [512, 2000]).indices,
         SPARSE_INPUTS),
    Case("SparseFillEmptyRows 16384",
         lambda i, v: tf.sparse.fill_empty_rows(tf.SparseTensor(i * [[2, 1]], v, [2048, 1000]),
                                                0.0)[0], SPARSE_INPUTS),
    Case("SparseReduceSum 16384",
         lambda i, v: tf.sparse.reduce_sum(tf.SparseTensor(i, v, [1024, 1000]), 1), SPARSE_INPUTS),
    Case("SparseSlice 16384",
         lambda i, v: tf.sparse.slice(tf.SparseTensor(i, v, [1024, 1000]), [100, 0], [500, 800]),
         SPARSE_INPUTS),
    Case("SparseSoftmax 16384",
         lambda i, v: tf.sparse.softmax(tf.SparseTensor(i, v, [1024, 1000])).values, SPARSE_INPUTS),
    Case("SparseCrossHashed 1024 by 3",
         lambda i, x: tf.sparse.cross_hashed(
             [tf.SparseTensor(i, x, [1024, 1])] * 3, 10000).values,
         [lambda rng: np.stack([np.arange(1024), np.zeros(1024)], 1).astype(np.int64),
          integers(10**6, 1024, dtype=np.int64)]),
    Case("RaggedGather 4096 of 16384 values",
         lambda s, v, i: tf.gather(tf.RaggedTensor.from_row_splits(v, s, validate=False), i),
         [splits(1024, VALUES), floats(VALUES), integers(1024, 4096)]),
    Case("RaggedTensorToTensor 1024 rows",
         lambda s, v: tf.RaggedTensor.from_row_splits(v, s, validate=False).to_tensor(),
         [splits(1024, VALUES), floats(VALUES)]),
    Case("RaggedTensorToSparse 1024 rows",
         lambda s, v: tf.RaggedTensor.from_row_splits(v, s, validate=False).to_sparse(),
         [splits(1024, VALUES), floats(VALUES)]),
    Case("RaggedReduceSum 1024 rows",
         lambda s, v: tf.reduce_sum(tf.RaggedTensor.from_row_splits(v, s, validate=False), 1),
         [splits(1024, VALUES), floats(VALUES)]),
    Case("RaggedRange 4096",
         lambda n: tf.ragged.range(tf.zeros([4096], tf.int32), n), [integers(10, 4096)]),
    Case("LookupTableFindV2 4096 strings", look_up([b"word%d" % i for i in range(20000)]),
         [words(4096, 40000)]),
    Case("LookupTableFindV2 16384 of int64", look_up(np.arange(0, 200000, 2)),
         [integers(200000, 16384, dtype=np.int64)]),
    Case("StringToHashBucketFast 4096", lambda x: tf.strings.to_hash_bucket_fast(x, 10**6),
         [words(4096)]),
    Case("StringToHashBucketStrong 4096",
         lambda x: tf.strings.to_hash_bucket_strong(x, 10**6, [1, 2]), [words(4096)]),
    Case("StringToHashBucket 4096", lambda x: tf.strings.to_hash_bucket(x, 10**6), [words(4096)]),
    Case("Fingerprint 4096x64 of uint8", lambda x: tf.fingerprint(x),
         [integers(256, 4096, 64, dtype=np.uint8)]),
    Case("StringSplitV2 64 texts of 50 words", lambda x: tf.strings.split(x), [texts(64, 50)]),
    Case("StringSplitV2 by comma 1024", lambda x: tf.strings.split(x, ","),
         [strings(lambda rng: b"a%d,b,c,d" % rng.integers(1000), 1024)]),
    Case("StringLower 256 texts", tf.strings.lower, [texts(256, 20)]),
    Case("StringLower UTF-8 256 texts", lambda x: tf.strings.lower(x, "utf-8"), [texts(256, 20)]),
    Case("StringJoin 3 of 2048", lambda *x: tf.strings.join(x, "_"), [words(2048)] * 3),
    Case("ReduceJoin 64x32", lambda x: tf.strings.reduce_join(tf.reshape(x, [64, 32]), 1,
                                                            separator=" "), [words(2048)]),
    Case("Substr 2048", lambda x: tf.strings.substr(x, 0, 4), [words(2048)]),
    Case("StringLength 4096", tf.strings.length, [words(4096)]),
    Case("StringStrip 2048", tf.strings.strip, [strings(lambda rng: b"  word ", 2048)]),
    Case("StaticRegexReplace 256 texts", lambda x: tf.strings.regex_replace(x, r"[0-9]+", "#"),
         [texts(256, 20)]),
    Case("StaticRegexFullMatch 2048", lambda x: tf.strings.regex_full_match(x, r"word[0-9]+"),
         [words(2048)]),
    Case("StringNGrams 64 texts, 1 and 2",
         lambda x: tf.strings.ngrams(tf.strings.split(x), [1, 2]), [texts(64, 30)]),
    Case("StringToNumber 4096", lambda x: tf.strings.to_number(x),
         [strings(lambda rng: b"%.5f" % rng.standard_normal(), 4096)]),
    Case("AsString float 4096", tf.strings.as_string, [floats(4096)]),
    Case("AsString int64 4096", tf.strings.as_string, [integers(10**9, 4096, dtype=np.int64)]),
    Case("UnicodeDecode 64 texts", lambda x: tf.strings.unicode_decode(x, "UTF-8"),
         [texts(64, 30)]),
    Case("UnicodeTranscode 256 texts",
         lambda x: tf.strings.unicode_transcode(x, "UTF-8", "UTF-16-BE"), [texts(256, 20)]),
    Case("Equal 4096 strings", tf.equal, [words(4096, 10), words(4096, 10)]),
    Case("GatherV2 4096 strings", tf.gather, [words(20000), integers(20000, 4096)]),
    Case("Unique 4096 strings", tf.unique, [words(4096, 1000)]),
    Case("EncodeBase64 256 texts", tf.io.encode_base64, [texts(256, 20)]),
    Case("DecodeRaw 256x784",
         lambda x: tf.io.decode_raw(x, tf.uint8), [strings(lambda rng: rng.bytes(784), 256)]),
    Case("DecodeCSV 1024 rows",
         lambda x: tf.io.decode_csv(x, [[0.0], [0.0], [0], [""]]),
         [strings(lambda rng: b"%.3f,1.5,%d,word" % (rng.standard_normal(), rng.integers(99)), 1024)]),
    Case("ParseExampleV2 256, 40 features", parse, [strings(serialised_example, 256)]),
    Case("ParseTensor 64x1024",
         lambda x: tf.io.parse_tensor(x[0], tf.float32),
         [strings(lambda rng: tf.make_tensor_proto(
             rng.standard_normal((64, 1024), dtype=np.float32)).SerializeToString(), 1)]),
    Case("EditDistance 64x16",
         lambda i, a, b: tf.edit_distance(tf.SparseTensor(i, a, [64, 16]),
                                          tf.SparseTensor(i, b, [64, 16])),
         [sparse_indices(64, 16, 1024), integers(20, 1024), integers(20, 1024)]),
    Case("DenseToSparseSetOperation 256x32",
         lambda a, b: tf.sets.intersection(a, b), [integers(64, 256, 32), integers(64, 256, 32)]),
]
