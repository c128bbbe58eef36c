// SHA-256 (FIPS 180-4), as 64 hexadecimal digits: names and checks the files of the kernel cache.
#pragma once
#include <string>
#include <string_view>

namespace byteways::gpu {

std::string sha256(std::string_view text);

}  // namespace byteways::gpu
