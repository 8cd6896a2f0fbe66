// FastBertNormalize: replaces characters of strings as a model says, which BERT's tokenizers come
// after.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/text/double_array_trie.h"
#include "runtime/kernels/text/write_vector.h"
#include "unicode/utf8.h"

namespace tessera {
namespace {

// A view of the model in a tensor: the replacements of characters, by their UTF-8.
class Replacements {
 public:
  // Errors: INVALID_ARGUMENT if the tensor does not hold a model.
  static absl::StatusOr<Replacements> Read(const Tensor& tensor) {
    const absl::string_view bytes(reinterpret_cast<const char*>(tensor.raw()),
                                  static_cast<size_t>(tensor.num_elements()));
    ASSIGN_OR_RETURN(const FlatTable table, FlatTable::Root(bytes));
    ASSIGN_OR_RETURN(const auto units, table.Vector<uint32_t>(/*trie=*/1));
    ASSIGN_OR_RETURN(const absl::string_view pool, table.String(/*strings=*/3));
    return Replacements(units, table.Scalar<uint32_t>(/*of the character zero=*/2, 0), pool);
  }

  // What takes the place of a character; none if it stays.
  std::optional<absl::string_view> Of(absl::string_view character) const {
    uint32_t value = zero_;
    if (character[0] != '\0') {
      std::optional<uint32_t> node = DoubleArrayTrie::kRoot;
      for (size_t i = 0; node && i < character.size(); ++i) {
        node = trie_.Child(*node, static_cast<uint8_t>(character[i]));
      }
      value = node ? trie_.Value(*node).value_or(0) : 0;
    }
    // Bit 30 says that there is one, bits 0 to 5 how long it is, those between where it begins.
    if ((value & 0x40000000) == 0) return std::nullopt;
    const size_t begin = value >> 6 & 0xffffff, size = value & 0x3f;
    if (begin + size > pool_.size()) return std::nullopt;
    return pool_.substr(begin, size);
  }

 private:
  Replacements(const FlatVector<uint32_t>& units, uint32_t zero, absl::string_view pool)
      : trie_(units), zero_(zero), pool_(pool) {}

  DoubleArrayTrie trie_;
  uint32_t zero_;
  absl::string_view pool_;
};

// Inputs: strings and the model. Outputs: the strings with their characters replaced, for each of
// their bytes, and for their end, the byte of the input that it comes from, and row splits of
// those. Without `get_offsets`, those rows are empty. Errors: INVALID_ARGUMENT for what is no
// model.
class BertNormalizeKernel final : public OpKernel {
 public:
  explicit BertNormalizeKernel(const KernelBuild& build)
      : get_offsets_(build.attr<bool>("get_offsets")) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Replacements replacements, Replacements::Read(ctx.input(1)));
    const auto texts = ctx.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
    std::string* result = output->data<std::string>();
    std::vector<int64_t> offsets, lengths;
    for (const std::string& text : texts) {
      const size_t before = offsets.size();
      Normalize(replacements, text, result++, get_offsets_ ? &offsets : nullptr);
      lengths.push_back(static_cast<int64_t>(offsets.size() - before));
    }
    RETURN_IF_ERROR(WriteVector<int64_t>(ctx, 1, offsets));
    return WriteSplits<int64_t>(ctx, 2, lengths);
  }

 private:
  static void Normalize(const Replacements& replacements, absl::string_view text,
                        std::string* result, std::vector<int64_t>* offsets) {
    const auto size = static_cast<int32_t>(text.size());
    for (int32_t at = 0, next = 0; at < size; at = next) {
      U8_FWD_1(text.data(), next, size);
      const absl::string_view character = text.substr(at, next - at);
      const std::optional<absl::string_view> replacement = replacements.Of(character);
      absl::StrAppend(result, replacement.value_or(character));
      if (offsets == nullptr) continue;
      // All bytes of a replacement come from the character's first.
      if (replacement) {
        offsets->insert(offsets->end(), replacement->size(), at);
      } else {
        for (int32_t i = at; i < next; ++i) offsets->push_back(i);
      }
    }
    if (offsets != nullptr) offsets->push_back(size);
  }

  const bool get_offsets_;
};
REGISTER_KERNEL("FastBertNormalize", kCpu, BertNormalizeKernel);

}  // namespace
}  // namespace tessera
