// Checks of a job that need neither its graph nor its data.
#pragma once

#include <string>
#include <vector>

namespace tessera {

namespace training {
class TrainingJob;
}  // namespace training

struct JobFinding {
  std::string key;      // the path of the setting: "hooks.checkpoint.every_steps"
  std::string message;  // what is wrong, and the remedy
};

// Returns everything that is wrong with the settings of a job by themselves: what is missing, out
// of range, unknown or contradictory.
std::vector<JobFinding> CheckJob(const training::TrainingJob& job);

}  // namespace tessera
