#include "runtime/kernels/image/jpeg_huffman.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>

// clang-format off
#include <jpeglib.h>  // needs FILE
#include <jpegint.h>  // needs the types of jpeglib.h
// clang-format on

namespace tessera {
namespace {

// Bits that index a table: enough for most codes together with their values, and often for two of
// them. The tables of an image fit the first-level cache.
constexpr int kTableBits = 10;
constexpr int kMaxCodeBits = 16;
// The longest code and the longest value behind it.
constexpr int kMaxCodedBits = 31;
constexpr int kBlockSize = 64;
// How far the symbol that ends a block advances: beyond what coefficients can reach.
constexpr int kEndOfBlock = 2 * kBlockSize;

// The natural position of the coefficient number k in zigzag order. What runs past the end of a
// block, its end symbol included, gets the last position.
constexpr auto kPositions = [] {
  std::array<uint8_t, 2 * kBlockSize + kEndOfBlock> positions{};
  positions.fill(kBlockSize - 1);
  int k = 0;
  for (int diagonal = 0; diagonal < 15; ++diagonal) {
    const int first = std::max(0, diagonal - 7), last = std::min(diagonal, 7);
    for (int i = first; i <= last; ++i) {
      // Even diagonals go up, odd ones down.
      const int row = diagonal % 2 == 0 ? first + last - i : i;
      positions[k++] = static_cast<uint8_t>(8 * row + diagonal - row);
    }
  }
  return positions;
}();

// The value that `bits`, the `size` bits behind a code, stand for: those that begin with a zero are
// negative.
int ExtendSign(uint32_t bits, int size) {
  const int range = (1 << size) - 1;
  const int is_negative = 2 * bits <= static_cast<uint32_t>(range);  // no branch: signs are random
  return static_cast<int>(bits) - range * is_negative;
}

// The coded data of a scan, without the zero byte that follows each byte of ones in the file.
class ScanData {
 public:
  // Copies what is before the next marker, or before the end.
  ScanData(const uint8_t* begin, const uint8_t* end)
      : bytes_(std::make_unique_for_overwrite<uint8_t[]>(end - begin + kPadding)), marker_(end) {
    uint8_t* to = bytes_.get();
    while (begin < end) {
      const void* const ones = std::memchr(begin, 0xff, end - begin);
      const uint8_t* const stop = ones != nullptr ? static_cast<const uint8_t*>(ones) : end;
      to = std::copy(begin, stop, to);
      begin = stop;
      if (stop == end) break;
      if (end - stop < 2 || stop[1] != 0) {
        marker_ = stop;
        break;
      }
      *to++ = 0xff;
      begin += 2;
    }
    end_ = to;
    std::memset(to, 0, kPadding);
  }

  const uint8_t* begin() const { return bytes_.get(); }
  const uint8_t* end() const { return end_; }
  // The place of the marker in the file.
  const uint8_t* marker() const { return marker_; }

 private:
  // Zeros behind the end: more than one minimum coded unit takes, which has ten blocks at most.
  static constexpr int kPadding = D_MAX_BLOCKS_IN_MCU * kBlockSize * 4 + 8;

  std::unique_ptr<uint8_t[]> bytes_;
  const uint8_t* end_ = nullptr;
  const uint8_t* marker_;
};

// Reads the bits of a scan.
class BitReader {
 public:
  // Bits that there are after a refill.
  static constexpr int kRefilled = 56;

  explicit BitReader(const uint8_t* begin) : next_(begin) {}

  bool IsBeyond(const uint8_t* end) const { return (next_ - end) * 8 > count_; }

  // Does not branch, because how many bits there are is unpredictable.
  void Refill() {
    uint64_t word;
    std::memcpy(&word, next_, sizeof(word));
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    bits_ |= word >> count_;
    next_ += (63 - count_) / 8;
    count_ |= kRefilled;
  }

  template <int kCount>
  uint32_t Peek() const {
    return static_cast<uint32_t>(bits_ >> (64 - kCount));
  }
  void Skip(int count) {
    bits_ <<= count;
    count_ -= count;
  }
  uint32_t Take(int count) {
    const auto taken = static_cast<uint32_t>(bits_ >> 1 >> (63 - count));  // none of them for 0
    Skip(count);
    return taken;
  }

 private:
  uint64_t bits_ = 0;  // the next bits, from the highest on; behind them, some that follow
  uint32_t count_ = 0;
  const uint8_t* next_;
};

// An entry of a table: the codes with which its index begins. They stand for one coefficient, or
// for two that follow one another, with the zeros before them. The end of a block counts as a zero
// far behind it, and a run of sixteen zeros as fifteen before another one.
class Codes {
 public:
  Codes() = default;  // no code: a length of 0
  // One code of `length` bits, its value included.
  Codes(int coefficient, int run, int length)
      : Codes(coefficient, coefficient, run, run + 1, length, length) {}
  // Two codes: `first` and then `second`, which are one code each.
  Codes(const Codes& first, const Codes& second)
      : Codes(first.first(), second.first(), first.run(), first.advance() + second.advance(),
              first.length() + second.length(), first.length()) {}

  // A code whose value is not among the bits of the index. It has a length of 0; first() is its
  // symbol, and run() the length of the code alone.
  static Codes WithoutValue(uint8_t symbol, int length) {
    return Codes(symbol, 0, length, 0, 0, 0);
  }

  int16_t first() const { return static_cast<int16_t>(packed_); }
  int16_t second() const { return static_cast<int16_t>(packed_ >> 16); }
  // Zeros before the first coefficient.
  int run() const { return static_cast<uint8_t>(packed_ >> 32); }
  // Coefficients in all, zeros included.
  int advance() const { return static_cast<uint8_t>(packed_ >> 40); }
  // Bits in all; 0 if the index does not hold one code with its value.
  int length() const { return static_cast<uint8_t>(packed_ >> 48); }
  int first_length() const { return static_cast<uint8_t>(packed_ >> 56); }

 private:
  Codes(int first, int second, int run, int advance, int length, int first_length)
      : packed_(uint64_t{static_cast<uint16_t>(first)} |
                uint64_t{static_cast<uint16_t>(second)} << 16 |
                uint64_t{static_cast<uint8_t>(run)} << 32 |
                uint64_t{static_cast<uint8_t>(advance)} << 40 |
                uint64_t{static_cast<uint8_t>(length)} << 48 |
                uint64_t{static_cast<uint8_t>(first_length)} << 56) {}

  uint64_t packed_ = 0;  // so that it stays in one register
};

// A table of Huffman codes.
class HuffmanTable {
 public:
  // Builds the table of DC or AC coefficients unless it is built already. Requires codes that
  // libjpeg has accepted.
  void Build(const JHUFF_TBL& codes, bool is_dc) {
    if (is_built_ && std::equal(std::begin(bits_), std::end(bits_), codes.bits) &&
        std::equal(std::begin(symbols_), std::end(symbols_), codes.huffval)) {
      return;
    }
    std::copy_n(codes.bits, std::size(bits_), bits_);
    std::copy_n(codes.huffval, std::size(symbols_), symbols_);
    is_dc_ = is_dc;
    is_built_ = true;
    FillTable();
    if (!is_dc) PairCodes();
  }

  // Takes one code or two: kTableBits bits at most, or any number, after which the reader is
  // refilled. Requires kMaxCodedBits bits. Returns a length of 0 for a code that is not in the
  // table.
  Codes Take(BitReader& bits) const {
    const Codes codes = table_[bits.Peek<kTableBits>()];
    if (codes.length() == 0) [[unlikely]]
      return TakeLong(bits, codes);
    bits.Skip(codes.length());
    return codes;
  }

 private:
  // Size of the value, whose bits follow the code.
  static int SizeOf(uint8_t symbol) { return symbol & 15; }

  Codes CodesOf(uint8_t symbol, int length, uint32_t value) const {
    const int size = SizeOf(symbol), run = symbol >> 4;
    const bool ends = !is_dc_ && size == 0 && run != 15;
    return Codes(ExtendSign(value, size), ends ? kEndOfBlock - 1 : run, length + size);
  }

  void FillTable() {
    table_.fill({});
    uint32_t code = 0;
    int symbol = 0;
    for (int length = 1; length <= kMaxCodeBits; ++length, code <<= 1) {
      offset_[length] = symbol - static_cast<int>(code);
      for (int i = 0; i < bits_[length]; ++i, ++code, ++symbol) {
        FillCodes(code, length, symbols_[symbol]);
      }
      end_[length] = code << (kMaxCodeBits - length);
    }
  }

  // Fills in what begins with a code, for all values that fit behind it.
  void FillCodes(uint32_t code, int length, uint8_t symbol) {
    const int size = SizeOf(symbol), spare = kTableBits - length - size;
    if (length > kTableBits) return;
    Codes* to = &table_[code << (kTableBits - length)];
    if (spare < 0) {
      std::fill_n(to, size_t{1} << (kTableBits - length), Codes::WithoutValue(symbol, length));
      return;
    }
    for (uint32_t value = 0; value < 1u << size; ++value) {
      to = std::fill_n(to, size_t{1} << spare, CodesOf(symbol, length, value));
    }
  }

  void PairCodes() {
    // The bits behind the first code are an index whose last bits are missing. They do not matter
    // to a code that ends before them.
    const std::array<Codes, 1 << kTableBits> single = table_;
    for (uint32_t i = 0; i < single.size(); ++i) {
      const Codes& first = single[i];
      if (first.length() == 0 || first.advance() >= kEndOfBlock) continue;
      const Codes& next = single[(i << first.length()) % single.size()];
      if (next.length() == 0 || first.length() + next.length() > kTableBits) continue;
      table_[i] = Codes(first, next);
    }
  }

  struct Symbol {
    uint8_t symbol = 0;
    uint8_t length = 0;  // 0: there is no such code
  };
  // The symbol whose code the 16 bits begin with, if it is longer than the table's index. Not
  // inline, so that the reader of the other codes stays in registers.
  [[gnu::noinline]] Symbol FindLong(uint32_t bits) const {
    int length = kTableBits + 1;
    while (length <= kMaxCodeBits && bits >= end_[length]) ++length;
    if (length > kMaxCodeBits) return {};
    const int code = static_cast<int>(bits >> (kMaxCodeBits - length));
    return {symbols_[code + offset_[length]], static_cast<uint8_t>(length)};
  }

  // Takes a code whose value does not fit the index, or that does not fit it itself.
  Codes TakeLong(BitReader& bits, const Codes& entry) const {
    Symbol found{static_cast<uint8_t>(entry.first()), static_cast<uint8_t>(entry.run())};
    if (found.length == 0) found = FindLong(bits.Peek<kMaxCodeBits>());
    if (found.length == 0) return Codes();
    bits.Skip(found.length);
    const uint32_t value = bits.Take(SizeOf(found.symbol));
    bits.Refill();
    return CodesOf(found.symbol, found.length, value);
  }

  std::array<Codes, 1 << kTableBits> table_;
  std::array<uint32_t, kMaxCodeBits + 1> end_;  // first code, of 16 bits, that is longer
  std::array<int, kMaxCodeBits + 1> offset_;    // of symbols from codes of each length
  UINT8 bits_[sizeof(JHUFF_TBL::bits)];
  UINT8 symbols_[sizeof(JHUFF_TBL::huffval)];
  bool is_dc_ = false;
  bool is_built_ = false;
};

// The tables of the last image that a thread has decoded: most images have the same ones.
struct TableCache {
  std::array<HuffmanTable, NUM_HUFF_TBLS> dc, ac;
};

class HuffmanDecoder final : public JpegHuffmanDecoder {
 public:
  explicit HuffmanDecoder(j_decompress_ptr info)
      : scan_(info->src->next_input_byte, info->src->next_input_byte + info->src->bytes_in_buffer),
        bits_(scan_.begin()) {
    hook_.base = *info->entropy;
    hook_.base.decode_mcu = [](j_decompress_ptr info, JBLOCKROW* blocks) -> boolean {
      return reinterpret_cast<Hook*>(info->entropy)->decoder->DecodeMcu(info, blocks);
    };
    hook_.decoder = this;
    info->entropy = &hook_.base;
    info->src->bytes_in_buffer -= scan_.marker() - info->src->next_input_byte;
    info->src->next_input_byte = scan_.marker();
    thread_local TableCache tables;
    for (int i = 0; i < info->comps_in_scan; ++i) {
      const jpeg_component_info& component = *info->cur_comp_info[i];
      tables.dc[component.dc_tbl_no].Build(*info->dc_huff_tbl_ptrs[component.dc_tbl_no], true);
      tables.ac[component.ac_tbl_no].Build(*info->ac_huff_tbl_ptrs[component.ac_tbl_no], false);
    }
    for (int i = 0; i < info->blocks_in_MCU; ++i) {
      const int number = info->MCU_membership[i];
      const jpeg_component_info& component = *info->cur_comp_info[number];
      blocks_[i] = {&tables.dc[component.dc_tbl_no], &tables.ac[component.ac_tbl_no], number};
    }
  }

  bool gave_up() const override { return gave_up_; }

 private:
  // Stands in the place of libjpeg's decoder, which is known by its first member.
  struct Hook {
    jpeg_entropy_decoder base;
    HuffmanDecoder* decoder;
  };
  struct Block {
    const HuffmanTable* dc;
    const HuffmanTable* ac;
    int component;
  };

  // Decodes a minimum coded unit. `blocks` are zero, or null if their values are not wanted.
  boolean DecodeMcu(j_decompress_ptr info, JBLOCKROW* blocks) {
    BitReader bits = bits_;  // in registers
    JBLOCK unwanted;
    bool valid = true;
    for (int i = 0; i < info->blocks_in_MCU && valid; ++i) {
      valid = DecodeBlock(blocks_[i], bits, blocks != nullptr ? *blocks[i] : unwanted);
    }
    bits_ = bits;
    if (!valid || bits.IsBeyond(scan_.end())) {
      gave_up_ = true;
      info->err->error_exit(reinterpret_cast<j_common_ptr>(info));
    }
    return TRUE;
  }

  // Returns false for an invalid code, or for too many coefficients.
  bool DecodeBlock(const Block& block, BitReader& bits, JCOEF* to) {
    bits.Refill();
    const Codes difference = block.dc->Take(bits);
    int& dc = last_dc_[block.component];
    dc += difference.first();
    to[0] = static_cast<JCOEF>(dc);
    if (difference.length() == 0 || dc != to[0]) return false;
    const HuffmanTable& ac = *block.ac;
    int k = 1;
    while (true) {
      bits.Refill();
      // Two entries of the table and a longer code are no more bits than a refill leaves.
      static_assert(2 * kTableBits + kMaxCodedBits <= BitReader::kRefilled);
      for (int i = 0; i < 3; ++i) {
        const BitReader before = bits;
        const Codes codes = ac.Take(bits);
        if (codes.length() == 0) return false;
        // The second coefficient is written first: if it lies behind the end of the block, it gets
        // the last position, which may be that of the first coefficient. Zeros are written only
        // where there is a zero already.
        to[kPositions[k + codes.advance() - 1]] = codes.second();
        to[kPositions[k + codes.run()]] = codes.first();
        if (k + codes.advance() < kBlockSize) {
          k += codes.advance();
          continue;
        }
        if (k + codes.run() + 1 == kBlockSize) {  // the second code is of the next block
          bits = before;
          bits.Skip(codes.first_length());
          return true;
        }
        const bool fits = k + codes.run() < kBlockSize || codes.run() == kEndOfBlock - 1;
        return fits && (k + codes.advance() == kBlockSize || k + codes.advance() >= kEndOfBlock);
      }
    }
  }

  Hook hook_;
  const ScanData scan_;
  BitReader bits_;
  std::array<Block, D_MAX_BLOCKS_IN_MCU> blocks_;
  std::array<int, MAX_COMPS_IN_SCAN> last_dc_ = {};
  bool gave_up_ = false;
};

}  // namespace

std::unique_ptr<JpegHuffmanDecoder> JpegHuffmanDecoder::Install(j_decompress_ptr info) {
  const bool is_whole = info->comps_in_scan == info->num_components;
  if (info->progressive_mode || info->arith_code || info->restart_interval != 0 || !is_whole ||
      info->data_precision != 8 || info->unread_marker != 0) {
    return nullptr;
  }
  return std::make_unique<HuffmanDecoder>(info);
}

}  // namespace tessera
