// Splits as interface `route` and the copy library make them: a line `BYTES WEIGHT…` gives the bytes of each
// path.
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "interfaces/route/parts.hpp"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::uint64_t bytes = 0;
    words >> bytes;
    std::vector<double> weights;
    for (double weight = 0; words >> weight;) weights.push_back(weight);
    std::vector<std::uint64_t> parts(weights.size(), 0);
    byteways::split_over_paths(bytes, weights,
                               [&](std::size_t path, std::uint64_t part) { parts[path] = part; });
    for (const std::uint64_t part : parts) std::cout << part << ' ';
    std::cout << '\n';
  }
}
