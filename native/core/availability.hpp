// Whether something is available here, and if not, the reason in one sentence.
#pragma once
#include <string>

namespace byteways {

struct Availability {
  bool available = false;
  std::string reason;
};

}  // namespace byteways
