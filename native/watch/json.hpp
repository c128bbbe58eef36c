// Writes JSON into one text: objects and lists with their commas.
#pragma once
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace byteways::watch {

class Json {
 public:
  void open(char bracket) {
    begin_value();
    text_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  void key(std::string_view name) {
    string(name);
    text_ += ':';
    first_ = true;
  }
  void string(std::string_view value) {
    begin_value();
    text_ += '"';
    for (const char letter : value) {
      const auto code = static_cast<unsigned char>(letter);
      if (letter == '"' || letter == '\\') text_ += '\\';
      // Names of files may have any byte: those beyond ASCII need not be UTF-8.
      text_ += code < 0x20 || code > 0x7e ? '?' : letter;
    }
    text_ += '"';
  }
  template <class Number>
  void number(Number value) {
    begin_value();
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    text_.append(digits, end);
  }
  void boolean(bool value) {
    begin_value();
    text_ += value ? "true" : "false";
  }
  // A value that is JSON already.
  void raw(std::string_view value) {
    begin_value();
    text_ += value;
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
  const std::string& text() const { return text_; }

 private:
  void begin_value() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  std::string text_;
  bool first_ = true;
};

}  // namespace byteways::watch
