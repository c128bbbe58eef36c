// Whether something can be had here, and in one sentence why not.
#pragma once
#include <string>

namespace byteways {

struct Availability {
  bool available = false;
  std::string reason;
};

}  // namespace byteways
