// Products of matrices of bytes with sums of int32, for quantised convolutions and products.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

// A depth x columns matrix of bytes in the order in which Multiply() reads it. Left-hand matrices
// hold unsigned bytes and this one signed bytes; numbers of the other kind are shifted by 128,
// which shifts their zero points, too:
//
//   std::vector<int8_t> room(ByteMatrix::PackedSize(depth, columns));
//   const ByteMatrix b = ByteMatrix::Pack(weights, depth, columns, columns, 1, room.data());
//   std::vector<uint8_t> a(rows * b.row_size());  // see CopyRow()
//   b.Multiply(a.data(), rows, sums, columns);    // sums(i, j) = sum of a(i, k) * b(k, j)
//
// Sums wrap. A value: it refers to the packed bytes.
class ByteMatrix {
 public:
  enum class Loops { kForCpu, kAvx2 };

  static size_t PackedSize(int64_t depth, int64_t columns);

  // Packs elements b[i * row_step + j * column_step] into `packed`, of PackedSize() bytes. T is
  // int8_t or uint8_t.
  template <typename T>
  static ByteMatrix Pack(const T* b, int64_t depth, int64_t columns, int64_t row_step,
                         int64_t column_step, int8_t* packed);

  // The bytes from a left-hand row to the next one. Those past its `depth` elements must be 0.
  int64_t row_size() const { return RoundedDepth(depth_); }
  // The approximate time to multiply a row, for the chunks of parallel loops.
  double RowNanoseconds() const;

  // `sums_stride` elements lie between rows of `sums`. The loops for AVX2 run on every processor.
  void Multiply(const uint8_t* a, int64_t rows, int32_t* sums, int64_t sums_stride,
                Loops loops = Loops::kForCpu) const;

 private:
  ByteMatrix(int64_t depth, int64_t columns, const int8_t* packed)
      : depth_(depth), columns_(columns), packed_(packed) {}

  // Four terms are multiplied at a time.
  static int64_t RoundedDepth(int64_t depth) { return (depth + 3) / 4 * 4; }

  int64_t depth_, columns_;
  const int8_t* packed_;
};

// Copies numbers of the left-hand matrix, `step` apart, as unsigned bytes, and returns their sum. T
// is int8_t or uint8_t.
template <typename T>
uint32_t CopyUnsigned(const T* from, int64_t count, int64_t step, uint8_t* to);

// The shifts of bytes that stand for T where they are stored as unsigned and as signed.
template <typename T>
inline constexpr uint32_t kUnsignedShift = static_cast<T>(-1) < 0 ? 128 : 0;
template <typename T>
inline constexpr uint32_t kSignedShift = static_cast<T>(-1) < 0 ? 0 : -128u;

}  // namespace tessera
