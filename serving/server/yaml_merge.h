// Merge keys of YAML (https://yaml.org/type/merge.html): `<<: *base` gives a mapping the keys of
// another one.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

#include "serving/server/config_report.h"

namespace tessera::serving {

// Replaces the merge keys of a document by the keys that they stand for, at every depth. The value
// of a merge key is a mapping or a list of mappings. A mapping's own keys go over merged ones, and
// the keys of earlier mappings in a list over those of later ones. Merged nodes keep the lines
// where they are written. A quoted "<<" is an ordinary key. Adds an error for each other value.
void ResolveYamlMerges(const std::string& file, const YAML::Node& root, ConfigReport* report);

}  // namespace tessera::serving
