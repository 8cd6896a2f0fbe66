// Feeds that come to a device before the run that takes them.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Implemented by the callables of sessions.
//
//   const auto* uploader = dynamic_cast<const FeedUploader*>(callable.get());
//   // While another run goes on:
//   ASSIGN_OR_RETURN(std::vector<Tensor> next, uploader->UploadFeeds(feeds));
//   // After it:
//   RETURN_IF_ERROR(callable->Run(options, next, &fetches));
class FeedUploader {
 public:
  virtual ~FeedUploader() = default;

  // Returns whether there are feeds that a device with memory of its own reads, and nobody else.
  virtual bool UploadsFeeds() const = 0;
  // Returns the feeds for a later run, those that a device alone reads in its memory. They are
  // copied on another stream than the runs use, and have come when this returns. Takes the feeds in
  // the order of the signature. Thread-safe. Errors: INVALID_ARGUMENT for another number or dtype
  // of feeds; those of the device.
  virtual absl::StatusOr<std::vector<Tensor>> UploadFeeds(absl::Span<const Tensor> feeds) const = 0;
};

}  // namespace tessera
