// The headers of the standard library that most sources include, parsed once for each library
// (CMakeLists.txt). No source includes this file, and each includes what it uses: they compile without it
// too, as with ccache.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
