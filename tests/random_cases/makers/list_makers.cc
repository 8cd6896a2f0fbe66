// Sequences of ops on values of the type variant: tensor lists, tensor maps, ragged tensors.
#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

// The steps on one list, and what is known of it.
class ListSteps {
 public:
  explicit ListSteps(Sequence& sequence)
      : sequence_(sequence),
        random_(sequence.random()),
        dtype_(DrawType(random_)),
        shape_(RandomShape(random_, 2)),
        fits_(random_.Chance(0.75)) {}

  void Run() {
    Make();
    while (sequence_.Continues()) {
      random_.Chance(0.6) ? Change() : Read();
      sequence_.Step("TensorListLength", {list_});
    }
    ReadAll();
  }

 private:
  AttrMap Type() const { return {{"element_dtype", dtype_}}; }
  // The shape of an element: most lists have elements of one shape.
  Shape ElementShape() {
    Shape shape = shape_;
    if (!fits_ && shape.rank() > 0 && random_.Chance(0.5)) shape.SetDim(0, random_.Between(0, 3));
    return shape;
  }
  StepOutput Element() { return sequence_.Drawn(dtype_, ElementShape()); }
  // Several elements in one tensor.
  StepOutput Elements(int64_t count) {
    Shape shape = ElementShape();
    shape.InsertDim(0, count);
    return sequence_.Drawn(dtype_, shape);
  }
  // What is said of the shape of the elements, in int32 or int64.
  StepOutput Said(DType type) {
    if (random_.Chance(0.15)) return Number(Tensor::Scalar<int32_t>(-1), type);
    std::vector<int32_t> dims;
    for (int i = 0; i < shape_.rank(); ++i) {
      const bool open = (!fits_ && i == 0) || random_.Chance(0.2);
      dims.push_back(open ? -1 : static_cast<int32_t>(shape_.dim(i)));
    }
    return Number(Tensor::Vector(absl::Span<const int32_t>(dims)), type);
  }
  StepOutput Number(const Tensor& value, DType type) {
    return sequence_.Given(ConvertedTensor(random_, value, type));
  }
  DType ShapeType() { return random_.Chance(0.7) ? DType::kInt32 : DType::kInt64; }
  StepOutput Index() {
    return sequence_.Int(static_cast<int32_t>(random_.Below(std::max<int64_t>(length_, 1))));
  }
  StepOutput Indices(int64_t count) {
    std::vector<int32_t> indices;
    for (int64_t i = 0; i < count; ++i) {
      indices.push_back(static_cast<int32_t>(random_.Below(std::max<int64_t>(length_, 1))));
    }
    return sequence_.Ints(indices);
  }

  void Make() {
    switch (random_.Below(6)) {
      case 0: {
        const int most = static_cast<int>(random_.Chance(0.8) ? -1 : random_.Between(1, 9));
        list_ =
            sequence_.Step("EmptyTensorList", {Said(ShapeType()), sequence_.Int(most)}, Type())[0];
        break;
      }
      case 1: {
        length_ = random_.Below(5);
        list_ = sequence_.Step("TensorListReserve",
                               {Said(ShapeType()), sequence_.Int(static_cast<int32_t>(length_))},
                               Type())[0];
        break;
      }
      case 2:
        length_ = random_.Below(5);
        list_ = sequence_.Step("TensorListFromTensor", {Elements(length_), Said(ShapeType())})[0];
        break;
      case 3:
        Split();
        break;
      default:
        Scatter();
    }
  }

  void Split() {
    std::vector<int64_t> lengths;
    int64_t total = 0;
    length_ = random_.Below(4);
    for (int64_t i = 0; i < length_; ++i) {
      lengths.push_back(random_.Below(4));
      total += lengths.back();
    }
    shape_.InsertDim(0, 0);
    fits_ = false;
    Shape shape = shape_;
    shape.SetDim(0, total);
    const StepOutput tensor = sequence_.Drawn(dtype_, shape), said = Said(ShapeType());
    list_ = sequence_.Step("TensorListSplit", {tensor, said, sequence_.Longs(lengths)})[0];
  }

  void Scatter() {
    length_ = random_.Between(1, 5);
    const int64_t count = random_.Below(4);
    const StepOutput tensor = Elements(count), indices = Indices(count), said = Said(ShapeType());
    if (random_.Chance(0.3)) {
      list_ = sequence_.Step("TensorListScatter", {tensor, indices, said})[0];
      length_ = 1;  // at least, if there is an index
      return;
    }
    const auto size = static_cast<int32_t>(random_.Chance(0.7) ? length_ : -1);
    if (size < 0) length_ = 1;
    list_ = sequence_.Step("TensorListScatterV2", {tensor, indices, said, sequence_.Int(size)})[0];
  }

  void Change() {
    switch (random_.Below(8)) {
      case 0:
      case 1:
      case 2:
        list_ = sequence_.Step("TensorListPushBack", {list_, Element()})[0];
        ++length_;
        break;
      case 3:
        if (length_ == 0 && random_.Chance(0.8)) return;
        list_ = sequence_.Step("TensorListPopBack", {list_, Said(DType::kInt32)}, Type())[0];
        length_ = std::max<int64_t>(length_ - 1, 0);
        break;
      case 4: {
        const bool grows = random_.Chance(0.2);
        const StepOutput index = grows ? sequence_.Int(static_cast<int32_t>(length_ + 1)) : Index();
        AttrMap attrs = {{"resize_if_index_out_of_bounds", grows}};
        if (length_ == 0 && !grows && random_.Chance(0.8)) return;
        list_ = sequence_.Step("TensorListSetItem", {list_, index, Element()}, attrs)[0];
        if (grows) length_ += 2;
        break;
      }
      case 5:
        length_ = std::max<int64_t>(0, length_ + random_.Between(-2, 2));
        list_ = sequence_.Step("TensorListResize",
                               {list_, sequence_.Int(static_cast<int32_t>(length_))})[0];
        break;
      case 6: {
        const int64_t count = random_.Below(3);
        list_ = sequence_.Step("TensorListScatterIntoExistingList",
                               {list_, Elements(count), Indices(count)})[0];
        length_ = std::max<int64_t>(length_, count > 0 ? 1 : 0);
        break;
      }
      default:
        Combine();
    }
  }

  // Makes one list of two, or adds to several lists at once.
  void Combine() {
    const StepOutput before = list_;
    if (random_.Chance(0.4)) {
      const StepOutput more = sequence_.Step("TensorListPushBack", {list_, Element()})[0];
      list_ = sequence_.Step("TensorListConcatLists", {before, more}, Type())[0];
      length_ = 2 * length_ + 1;
      return;
    }
    if (random_.Chance(0.5)) {
      const StepOutput both = sequence_.Step("Pack", {list_, list_})[0];
      const StepOutput more = sequence_.Step("TensorListPushBackBatch", {both, Elements(2)})[0];
      const AttrMap two = {{"num", 2}};
      list_ = sequence_.Step("Unpack", {more}, two)[random_.Below(2)];
      ++length_;
      return;
    }
    if (!IsNumber(dtype_)) return;
    const std::string op = random_.Chance(0.6) ? "AddN" : "ZerosLike";
    list_ = op == "AddN" ? sequence_.Step(op, {list_, before})[0] : sequence_.Step(op, {list_})[0];
  }

  void Read() {
    switch (random_.Below(5)) {
      case 0: {
        if (length_ == 0 && random_.Chance(0.9)) return;
        sequence_.Step("TensorListGetItem", {list_, Index(), Said(DType::kInt32)}, Type());
        break;
      }
      case 1: {
        const DType type = ShapeType();
        sequence_.Step("TensorListElementShape", {list_}, {{"shape_type", type}});
        break;
      }
      case 2:
        if (length_ == 0 && random_.Chance(0.8)) return;
        sequence_.Step("TensorListGather", {list_, Indices(random_.Below(4)), Said(DType::kInt32)},
                       Type());
        break;
      case 3:
        if (shape_.rank() == 0 || random_.Chance(0.3)) return;
        Join();
        break;
      default:
        ReadAll();
    }
  }

  // Says all dimensions but the first: TensorFlow does not look at what the list says of them.
  void Join() {
    PartialShape said(shape_);
    said.set_dim(0, -1);
    if (random_.Chance(0.3)) {
      AttrMap attrs = Type();
      attrs["element_shape"] = said;
      sequence_.Step("TensorListConcat", {list_}, attrs);
      return;
    }
    std::vector<int64_t> lengths;
    const int64_t count = random_.Chance(0.7) ? 0 : length_;
    for (int64_t i = 0; i < count; ++i) lengths.push_back(shape_.dim(0));
    const StepOutput dims = sequence_.Longs({said.dims().begin(), said.dims().end()});
    sequence_.Step("TensorListConcatV2", {list_, dims, sequence_.Longs(lengths)}, Type());
  }

  void ReadAll() {
    AttrMap attrs = Type();
    if (random_.Chance(0.2)) attrs["num_elements"] = length_;
    sequence_.Step("TensorListStack", {list_, Said(DType::kInt32)}, attrs);
  }

  Sequence& sequence_;
  Random& random_;
  const DType dtype_;
  Shape shape_;
  bool fits_;  // all elements have the same shape
  StepOutput list_;
  int64_t length_ = 0;
};

void MakeList(Sequence& sequence) { ListSteps(sequence).Run(); }

void MakeMap(Sequence& sequence) {
  Random& random = sequence.random();
  const DType key_type =
      random.Pick(std::vector<DType>{DType::kInt32, DType::kInt64, DType::kString, DType::kFloat});
  const DType value_type = DrawType(random);
  const AttrMap key = {{"key_dtype", key_type}},
                types = {{"key_dtype", key_type}, {"value_dtype", value_type}};
  std::vector<Tensor> keys;
  for (int i = 0; i < 4; ++i) keys.push_back(sequence.Draw(key_type, Shape()));
  std::vector<Tensor> inserted;
  StepOutput map = sequence.Step("EmptyTensorMap", {})[0];
  while (sequence.Continues()) {
    const Tensor& some = random.Pick(keys);
    const StepOutput at = sequence.Given(some);
    switch (random.Below(6)) {
      case 0:
      case 1:
      case 2:
        inserted.push_back(some);
        map = sequence.Step("TensorMapInsert",
                            {map, at, sequence.Drawn(value_type, RandomShape(random, 2))})[0];
        break;
      case 3:
        sequence.Step("TensorMapHasKey", {map, at}, key);
        break;
      case 4:
        if (inserted.empty() && random.Chance(0.8)) break;
        sequence.Step("TensorMapLookup",
                      {map, inserted.empty() ? at : sequence.Given(random.Pick(inserted))}, types);
        break;
      default:
        if (inserted.empty() && random.Chance(0.8)) break;
        map = sequence.Step("TensorMapErase", {map, at}, types)[0];
        inserted.clear();  // what is left is not followed
    }
    sequence.Step("TensorMapSize", {map});
  }
  // The keys come in the order of a hash table.
  sequence.Unseen("TensorMapStackKeys", {map}, key);
}

// Row splits of `rows` rows over at most a few values each.
std::vector<int64_t> DrawSplits(Random& random, int64_t rows) {
  std::vector<int64_t> splits = {0};
  for (int64_t i = 0; i < rows; ++i) splits.push_back(splits.back() + random.Below(4));
  return splits;
}

StepOutput Splits(Sequence& sequence, DType type, const std::vector<int64_t>& splits) {
  const Tensor values = Tensor::Vector(absl::Span<const int64_t>(splits));
  return sequence.Given(ConvertedTensor(sequence.random(), values, type));
}

void MakeRagged(Sequence& sequence) {
  Random& random = sequence.random();
  const DType dtype = DrawType(random);
  const DType split_type = random.Chance(0.7) ? DType::kInt64 : DType::kInt32;
  const int64_t ragged_rank = random.Between(0, 2);
  std::vector<StepOutput> inputs;
  int64_t rows = random.Below(4);
  for (int64_t i = 0; i < ragged_rank; ++i) {
    const std::vector<int64_t> splits = DrawSplits(random, rows);
    rows = splits.back();
    inputs.push_back(Splits(sequence, split_type, splits));
  }
  Shape shape = RandomShape(random, 1);
  shape.InsertDim(0, rows);
  inputs.push_back(sequence.Drawn(dtype, shape));
  const bool batched = random.Chance(0.6);
  const StepOutput encoded = sequence.Step("RaggedTensorToVariant", inputs,
                                           {{"Tsplits", split_type},
                                            {"batched_input", batched},
                                            {"RAGGED_RANK", ragged_rank},
                                            {"Tvalues", dtype}})[0];
  // Rows that were encoded one by one have lost a dimension, which decoding gives back.
  const int64_t input_rank = batched ? ragged_rank - 1 : ragged_rank;
  const int64_t output_rank = random.Chance(0.9) ? ragged_rank : random.Between(0, 3);
  sequence.Step("RaggedTensorFromVariant", {encoded},
                {{"Tvalues", dtype},
                 {"Tsplits", split_type},
                 {"input_ragged_rank", random.Chance(0.3) ? -1 : input_rank},
                 {"output_ragged_rank", output_rank}});
  const bool has_gradient = dtype == DType::kFloat || dtype == DType::kInt32;
  if (ragged_rank == 1 && batched && has_gradient) {
    std::vector<int32_t> dims;
    for (const int64_t dim : shape.dims()) dims.push_back(static_cast<int32_t>(dim));
    sequence.Step("RaggedTensorToVariantGradient", {encoded, inputs[0], sequence.Ints(dims)},
                  {{"Tvalues", dtype}});
  }
}

}  // namespace

std::vector<SequenceMaker> ListMakers() {
  return {MakeList, MakeList, MakeList, MakeMap, MakeRagged};
}

}  // namespace tessera
