// The devices of a job's sessions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/framework/device_factory.h"
#include "runtime/session/session.h"
#include "tessera/training/job.pb.h"

namespace tessera {

// Returns the devices for the session that trains, and sets the process's GPU options. A type that
// makes devices only on demand, as the accelerator for tests does, makes one. Errors:
// INVALID_ARGUMENT for a type that this program has no devices of.
absl::StatusOr<DeviceOptions> TrainingDevices(const training::DeviceSpec& spec);

// Returns the CPU alone, for sessions that read data.
DeviceOptions DataDevices();

// FAILED_PRECONDITION if the session has no device of the type that the job asks for.
absl::Status CheckTrainingDevice(const training::DeviceSpec& spec, const Session& session);

}  // namespace tessera
