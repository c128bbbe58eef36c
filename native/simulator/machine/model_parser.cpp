// See model_parser.hpp.
#include "simulator/machine/model_parser.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace byteways::sim {
namespace {

[[noreturn]] void refuse(const std::string& key, const std::string& what) {
  throw std::invalid_argument("machine sheet, '" + key + "': " + what);
}

}  // namespace

ModelParser::ModelParser(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos || tab == 0)
      refuse(std::string(line), "no key and value with a tab between");
    if (!values_.emplace(line.substr(0, tab), line.substr(tab + 1)).second)
      refuse(std::string(line.substr(0, tab)), "given twice");
  }
}

std::string ModelParser::text(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) refuse(key, "missing");
  read_.insert(key);
  return found->second;
}

double ModelParser::number(const std::string& key) {
  const std::string value = text(key);
  char* end = nullptr;
  const double result = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !std::isfinite(result) || result < 0)
    refuse(key, "'" + value + "' is no number of 0 or more");
  return result;
}

std::uint64_t ModelParser::whole(const std::string& key) {
  const double value = number(key);
  if (value != std::floor(value) || value > 9e18) refuse(key, "not a whole number");
  const std::string written = text(key);
  std::uint64_t exact = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), exact);
  return error == std::errc() && end == written.data() + written.size() ? exact
                                                                        : static_cast<std::uint64_t>(value);
}

int ModelParser::integer(const std::string& key) {
  const std::uint64_t value = whole(key);
  if (value > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) refuse(key, "too large");
  return static_cast<int>(value);
}

int ModelParser::count(const std::string& prefix) const {
  for (int index = 0;; ++index) {
    const std::string key = prefix + "." + std::to_string(index);
    const auto found = values_.lower_bound(key);
    const bool there = found != values_.end() && (found->first == key || found->first.starts_with(key + "."));
    if (!there) return index;
  }
}

std::set<std::string> ModelParser::names(const std::string& prefix) const {
  std::set<std::string> found;
  const std::string before = prefix + ".";
  for (auto each = values_.lower_bound(before); each != values_.end() && each->first.starts_with(before);
       ++each) {
    const std::string rest = each->first.substr(before.size());
    found.insert(rest.substr(0, rest.find('.')));
  }
  return found;
}

void ModelParser::refuse_unread() const {
  for (const auto& [key, value] : values_)
    if (!read_.contains(key)) refuse(key, "nothing reads it");
}

}  // namespace byteways::sim
