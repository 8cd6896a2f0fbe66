// Stands in front of protobuf's header of this name, which gives maps two further members under
// ThreadSanitizer. The library was compiled without them, and would find the others elsewhere.
#pragma once

#include <google/protobuf/message.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#pragma push_macro("__SANITIZE_THREAD__")
#undef __SANITIZE_THREAD__
#include_next <google/protobuf/map_field.h>
#pragma pop_macro("__SANITIZE_THREAD__")
