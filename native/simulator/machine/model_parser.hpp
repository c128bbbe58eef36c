// Key/value parser of a machine sheet (model.hpp). Reports unread keys by name.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace byteways::sim {

class ModelParser {
 public:
  // Throws std::invalid_argument for a line that is not `key<TAB>value`, or a duplicate key.
  explicit ModelParser(std::string_view text);

  // All of these throw std::invalid_argument, naming the key.
  std::string text(const std::string& key);
  double number(const std::string& key);
  std::uint64_t whole(const std::string& key);
  int integer(const std::string& key);  // must fit an int
  bool truth(const std::string& key) { return whole(key) != 0; }
  // The indices 0, 1, … for which keys `prefix.N` or `prefix.N.…` are there.
  int count(const std::string& prefix) const;
  // The next parts of keys that begin with `prefix.`, each once.
  std::set<std::string> names(const std::string& prefix) const;
  void refuse_unread() const;

 private:
  std::map<std::string, std::string> values_;
  std::set<std::string> read_;
};

}  // namespace byteways::sim
