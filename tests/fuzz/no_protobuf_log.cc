// Keeps the protocol buffer library from logging: texts that are not UTF-8 would fill the log.
#include "google/protobuf/stubs/logging.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}
