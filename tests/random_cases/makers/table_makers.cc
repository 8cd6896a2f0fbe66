// Sequences of ops on lookup tables.
#include <algorithm>

#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

struct TableTypes {
  DType key, value;
};

// The steps on one table, and the keys that it may hold.
class TableSteps {
 public:
  enum class Kind { kImmutable, kMutable, kOfTensors, kDense };

  TableSteps(Sequence& sequence, Kind kind)
      : sequence_(sequence),
        random_(sequence.random()),
        kind_(kind),
        // TensorFlow's kernel of the op MutableDenseHashTable asks for an input that it has not.
        by_reference_(kind != Kind::kDense && random_.Chance(0.2)),
        types_(DrawTypes()) {
    if (kind == Kind::kOfTensors) value_shape_ = Shape{random_.Between(1, 3)};
    if (kind == Kind::kDense && random_.Chance(0.4)) value_shape_ = RandomShape(random_, 1);
    if (kind == Kind::kDense && random_.Chance(0.15) && types_.key != DType::kString) {
      key_shape_ = Shape{2};
    }
    // Few keys, of which many are looked up that are not there, and one twice.
    for (int i = 0; i < 6; ++i) keys_.push_back(sequence.Draw(types_.key, key_shape_));
  }

  void Run() {
    Make();
    if (kind_ == Kind::kImmutable) Initialize();
    while (sequence_.Continues()) Step();
    Call("LookupTableSize", {table_});
  }

 private:
  TableTypes DrawTypes() {
    static const std::vector<TableTypes> immutable = {
        {DType::kString, DType::kInt64}, {DType::kInt64, DType::kString},
        {DType::kInt64, DType::kInt64},  {DType::kString, DType::kFloat},
        {DType::kInt32, DType::kInt32},  {DType::kString, DType::kInt32},
        {DType::kInt64, DType::kFloat},  {DType::kString, DType::kString},
        {DType::kInt32, DType::kFloat},  {DType::kInt32, DType::kString}};
    static const std::vector<TableTypes> variable = {
        {DType::kInt64, DType::kFloat},  {DType::kInt64, DType::kInt64},
        {DType::kString, DType::kFloat}, {DType::kString, DType::kInt64},
        {DType::kInt32, DType::kFloat},  {DType::kInt64, DType::kString},
        {DType::kString, DType::kBool},  {DType::kInt64, DType::kDouble}};
    static const std::vector<TableTypes> dense = {
        {DType::kInt64, DType::kInt64}, {DType::kInt64, DType::kFloat},
        {DType::kInt32, DType::kFloat}, {DType::kString, DType::kFloat},
        {DType::kInt64, DType::kBool},  {DType::kString, DType::kInt64},
        {DType::kInt32, DType::kInt32}, {DType::kInt64, DType::kDouble}};
    return random_.Pick(kind_ == Kind::kImmutable ? immutable
                        : kind_ == Kind::kDense   ? dense
                                                  : variable);
  }

  std::vector<StepOutput> Call(const std::string& op, const std::vector<StepOutput>& inputs,
                               AttrMap attrs = {}) {
    return sequence_.Step(op + (by_reference_ ? "" : "V2"), inputs, std::move(attrs));
  }

  void Make() {
    static const std::vector<std::string> ops = {
        "HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable"};
    const std::string& op = ops[static_cast<size_t>(kind_)];
    AttrMap attrs = {{"key_dtype", types_.key}, {"value_dtype", types_.value}};
    if (kind_ == Kind::kOfTensors || kind_ == Kind::kDense) {
      attrs["value_shape"] = PartialShape(value_shape_);
    }
    std::vector<StepOutput> inputs;
    if (kind_ == Kind::kDense) {
      attrs["initial_num_buckets"] = random_.Pick(std::vector<int64_t>{4, 8, 16, 128});
      if (random_.Chance(0.2)) attrs["max_load_factor"] = 0.5f;
      // The empty key, and the deleted one.
      inputs.push_back(sequence_.Drawn(types_.key, key_shape_));
      inputs.push_back(sequence_.Drawn(types_.key, key_shape_));
    }
    if (!by_reference_ && random_.Chance(0.3)) {
      table_ = sequence_.Step("Anonymous" + op, inputs, attrs)[0];
    } else {
      table_ = Call(op, inputs, attrs)[0];
    }
  }

  // Some of the keys, in any order, or each once.
  Tensor Keys(const Shape& shape, bool each_once) {
    Shape whole = shape;
    for (const int64_t dim : key_shape_.dims()) whole.AddDim(dim);
    Tensor keys = Tensor::Zeros(types_.key, whole).value();
    int64_t first = random_.Below(static_cast<int64_t>(keys_.size()));
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      const size_t at = each_once ? (first + i) % keys_.size()
                                  : random_.Below(static_cast<int64_t>(keys_.size()));
      Copy(keys_[at], i, &keys);
    }
    return keys;
  }
  static void Copy(const Tensor& element, int64_t i, Tensor* tensor) {
    if (element.dtype() == DType::kString) {
      for (int64_t j = 0; j < element.num_elements(); ++j) {
        tensor->flat<std::string>()[i * element.num_elements() + j] =
            element.flat<std::string>()[j];
      }
      return;
    }
    std::copy_n(element.raw(), element.size_bytes(),
                tensor->mutable_raw() + i * static_cast<int64_t>(element.size_bytes()));
  }
  StepOutput Values(const Shape& shape) {
    Shape whole = shape;
    for (const int64_t dim : value_shape_.dims()) whole.AddDim(dim);
    return sequence_.Drawn(types_.value, whole);
  }
  Shape Batch() {
    if (random_.Chance(0.7)) return Shape{random_.Below(5)};
    return kind_ == Kind::kDense ? Shape{random_.Between(1, 4)} : RandomShape(random_, 2);
  }

  void Initialize() {
    const Shape shape{random_.Below(7)};
    // A key that comes twice with another value is refused.
    const StepOutput keys = sequence_.Given(Keys(shape, random_.Chance(0.95)));
    Call("InitializeTable", {table_, keys, Values(shape)});
  }

  void Step() {
    const int64_t way = random_.Below(8);
    if (way < 3) {
      const Shape shape = Batch();
      const StepOutput keys = sequence_.Given(Keys(shape, false));
      const bool of_keys =
          kind_ == Kind::kDense || kind_ == Kind::kOfTensors || random_.Chance(0.97);
      const StepOutput missing = sequence_.Drawn(types_.value, of_keys ? value_shape_ : Shape{2});
      Call("LookupTableFind", {table_, keys, missing});
    } else if (kind_ == Kind::kImmutable) {
      way < 5 ? Export() : static_cast<void>(Call("LookupTableSize", {table_}));
    } else if (way < 6) {
      const Shape shape = Batch();
      const StepOutput keys = sequence_.Given(Keys(shape, false));
      Call("LookupTableInsert", {table_, keys, Values(shape)});
    } else if (way == 6) {
      if (by_reference_) return;
      Call("LookupTableRemove", {table_, sequence_.Given(Keys(Batch(), false))});
    } else if (kind_ == Kind::kDense || random_.Chance(0.5)) {
      Export();
    } else {
      const Shape shape{random_.Below(5)};
      const StepOutput keys = sequence_.Given(Keys(shape, true));
      Call("LookupTableImport", {table_, keys, Values(shape)});
    }
  }

  // A dense table gives its buckets, which it takes back. Another one comes in the order of its
  // hash table: numbers can be brought into an order, which shows the values that belong to them.
  void Export() {
    const std::string op = by_reference_ ? "LookupTableExport" : "LookupTableExportV2";
    const AttrMap types = {{"Tkeys", types_.key}, {"Tvalues", types_.value}};
    if (kind_ == Kind::kDense) {
      // TensorFlow gives the very memory of the table, and takes what it imports for that.
      const std::vector<StepOutput> buckets = sequence_.Unseen(op, {table_}, types);
      for (const StepOutput& part : buckets) sequence_.Step("DeepCopy", {part});
      const StepOutput keys = sequence_.Unseen("DeepCopy", {buckets[0]})[0];
      const StepOutput values = sequence_.Unseen("DeepCopy", {buckets[1]})[0];
      if (random_.Chance(0.5)) Step();
      if (random_.Chance(0.7)) Call("LookupTableImport", {table_, keys, values});
      return;
    }
    const std::vector<StepOutput> all = sequence_.Unseen(op, {table_}, types);
    if (types_.key == DType::kString) return;
    const StepOutput size = Call("LookupTableSize", {table_})[0];
    const StepOutput count = sequence_.Unseen("Cast", {size}, {{"DstT", DType::kInt32}})[0];
    const std::vector<StepOutput> order = sequence_.Unseen("TopKV2", {all[0], count});
    const StepOutput axis = sequence_.Exactly(Tensor::Scalar<int32_t>(0));
    sequence_.Step("GatherV2", {all[0], order[1], axis});
    sequence_.Step("GatherV2", {all[1], order[1], axis});
  }

  Sequence& sequence_;
  Random& random_;
  const Kind kind_;
  const bool by_reference_;
  const TableTypes types_;
  Shape key_shape_, value_shape_;
  std::vector<Tensor> keys_;
  StepOutput table_;
};

void MakeImmutable(Sequence& sequence) { TableSteps(sequence, TableSteps::Kind::kImmutable).Run(); }
void MakeMutable(Sequence& sequence) { TableSteps(sequence, TableSteps::Kind::kMutable).Run(); }
void MakeOfTensors(Sequence& sequence) { TableSteps(sequence, TableSteps::Kind::kOfTensors).Run(); }
void MakeDense(Sequence& sequence) { TableSteps(sequence, TableSteps::Kind::kDense).Run(); }

}  // namespace

std::vector<SequenceMaker> TableMakers() {
  return {MakeImmutable, MakeMutable, MakeOfTensors, MakeDense};
}

}  // namespace tessera
