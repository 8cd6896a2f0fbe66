// Datasets in a serialised form, so that what is saved may hold elements that are datasets, such as
// windows.
//
// A dataset that knows its elements, or where they are, has a serialised form; one that computes
// them has none. Its class encodes itself, and registers how it is decoded:
//
//   std::shared_ptr<const EncodedVariant> Encode() const override {
//     return EncodeDataset(kEncodedName, spec(), {Tensor::Scalar(path_)});
//   }
//   REGISTER_DATASET_DECODER(kEncodedName, DecodeFromPath);
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/data/dataset.h"
#include "runtime/tensor/encoded_variant.h"

namespace tessera {

// Returns the serialised form of a dataset with these elements. `type` names its decoder.
std::shared_ptr<const EncodedVariant> EncodeDataset(absl::string_view type, const ElementSpec& spec,
                                                    std::vector<Tensor> content);

// Replaces datasets of the element that are in their serialised form, as they come out of a
// checkpoint or a file, by datasets. What is not trusted, such as the tensors of a request, does
// not come here: a serialised dataset may name a file.
// Errors: DATA_LOSS for a form that EncodeDataset() did not make; those of the decoders.
absl::Status DecodeDatasets(Element* element);

// Makes a dataset of the spec and the content that its class gave to EncodeDataset().
// Errors: DATA_LOSS for other content.
using DatasetDecoder = absl::StatusOr<DatasetPtr> (*)(ElementSpec spec,
                                                      std::vector<Tensor> content);

class DatasetDecoderRegistration {
 public:
  DatasetDecoderRegistration(absl::string_view type, DatasetDecoder decoder);
};
#define REGISTER_DATASET_DECODER(type, decoder) \
  static const ::tessera::DatasetDecoderRegistration dataset_decoder_registration(type, decoder)

}  // namespace tessera
