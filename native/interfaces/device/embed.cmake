# Writes the device sources, and the headers that they include, as raw string literals into one C++ file:
# embedded_kernels() in runtimes/kernel_source.hpp finds them by their paths under ROOT, as #include names them.
set(text "#include \"runtimes/kernel_source.hpp\"\nnamespace byteways {\nconst std::map<std::string, std::string>& embedded_kernels() {\n  static const std::map<std::string, std::string> sources{\n")
foreach(source IN LISTS SOURCES)
  file(RELATIVE_PATH name "${ROOT}" "${source}")
  file(READ "${source}" body)
  string(APPEND text "{\"${name}\", R\"~~~(${body})~~~\"},\n")
endforeach()
string(APPEND text "  };\n  return sources;\n}\n}  // namespace byteways\n")
file(WRITE "${OUTPUT}" "${text}")
