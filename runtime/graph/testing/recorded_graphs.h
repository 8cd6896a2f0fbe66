// For tests: graphs that TensorFlow wrote.
#pragma once

#include <string>
#include <vector>

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera {

// The corpus of whole graphs: files of one GraphDef each, sorted. Those of the shared data
// ($TESSERA_SHARED, else ../shared beside the repository) if it is there, else tests/data.
std::vector<std::string> RecordedGraphFiles();
// Likewise the saved_model.pb files of all recorded models.
std::vector<std::string> RecordedModelFiles();

// The graph in a file of either kind. Aborts if it cannot be read.
tensorflow::GraphDef ReadRecordedGraph(const std::string& path);

}  // namespace tessera
