// Writes JSON: objects and lists with their commas.
#pragma once
#include <charconv>
#include <string_view>
#include <type_traits>

#include "watch/output.hpp"

namespace byteways::watch {

class Json {
 public:
  explicit Json(Output& out) : out_(out) {}
  void open(char bracket) {
    begin_value();
    out_.put(bracket);
    first_ = true;
  }
  void close(char bracket) {
    out_.put(bracket);
    first_ = false;
  }
  void key(std::string_view name) {
    string(name);
    out_.put(':');
    first_ = true;
  }
  void string(std::string_view value) {
    begin_value();
    out_.put('"');
    for (const char letter : value) {
      const auto code = static_cast<unsigned char>(letter);
      if (letter == '"' || letter == '\\') out_.put('\\');
      // Names of files may have any byte: those beyond ASCII need not be UTF-8.
      out_.put(code < 0x20 || code > 0x7e ? '?' : letter);
    }
    out_.put('"');
  }
  template <class Number>
  void number(Number value) {
    begin_value();
    put_number(value);
  }
  // A name with a number behind it, as a string: "gpu0".
  void numbered(std::string_view name, int value) {
    begin_value();
    out_.put('"');
    out_.put(name);
    put_number(value);
    out_.put('"');
  }
  void boolean(bool value) {
    begin_value();
    out_.put(value ? "true" : "false");
  }
  // A value that is JSON already.
  void raw(std::string_view value) {
    begin_value();
    out_.put(value);
  }
  template <class Value>
  void field(std::string_view name, Value value) {
    key(name);
    if constexpr (std::is_same_v<Value, bool>)
      boolean(value);
    else if constexpr (std::is_convertible_v<Value, std::string_view>)
      string(value);
    else
      number(value);
  }

 private:
  void begin_value() {
    if (!first_) out_.put(',');
    first_ = false;
  }
  template <class Number>
  void put_number(Number value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out_.put(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }
  Output& out_;
  bool first_ = true;
};

}  // namespace byteways::watch
