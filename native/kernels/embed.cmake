# Writes the device sources as raw string literals into one C++ file: embedded_kernels() in
# runtimes/kernel_source.hpp finds them by file name.
set(text "#include \"runtimes/kernel_source.hpp\"\nnamespace byteways {\nconst std::map<std::string, std::string>& embedded_kernels() {\n  static const std::map<std::string, std::string> sources{\n")
foreach(source IN LISTS SOURCES)
  get_filename_component(name "${source}" NAME)
  file(READ "${source}" body)
  string(APPEND text "{\"${name}\", R\"~~~(${body})~~~\"},\n")
endforeach()
string(APPEND text "  };\n  return sources;\n}\n}  // namespace byteways\n")
file(WRITE "${OUTPUT}" "${text}")
