// What NVRTC and hipRTC have in common: a program is made of an embedded source and its headers, compiled,
// and its image fetched. `Table` has the vendor's functions; both vendors' tables name them alike.
#pragma once
#include <string>
#include <vector>

#include "runtimes/gpu/compiler.hpp"
#include "runtimes/gpu/function_table.hpp"
#include "runtimes/kernel_source.hpp"

namespace byteways::gpu {

template <class Table>
class RuntimeCompiler : public KernelCompiler {
 public:
  const LibraryReport& report() const { return report_; }
  Availability available() const override {
    if (report_.usable) return {true, {}};
    return {false, "kernels need " + name_ + ": " + report_.reason +
                       (report_.hint.empty() ? "" : " (" + report_.hint + ")")};
  }

 protected:
  using Program = typename Table::Program;
  using Size = Function<int(Program, std::size_t*)>;
  using Get = Function<int(Program, char*)>;

  RuntimeCompiler(const char* library, std::string name) : name_(std::move(name)) {
    report_.library = library;
  }

  // Returns what `size` and `get` give of a compiled source. `target`: the architecture, for messages.
  std::string build(const std::string& file, const std::string& target,
                    const std::vector<const char*>& options, const Size& size, const Get& get) const {
    const KernelHeaders& headers = kernel_headers();
    ProgramOwner owner(table_);
    check(table_.create_program.symbol(),
          table_.create_program(&owner.program, embedded_kernels().at(file).c_str(), file.c_str(),
                                static_cast<int>(headers.names.size()), headers.texts.data(),
                                headers.names.data()));
    const int code = table_.compile_program(owner.program, static_cast<int>(options.size()), options.data());
    if (code != 0) {
      const std::string log = text_of(owner.program, table_.get_log_size, table_.get_log);
      throw Unsupported(
          table_.compile_program.symbol(), table_.get_error_string(code),
          name_ + " " + report_.version + " refuses " + file + " for " + target + ": " + log.c_str());
    }
    return text_of(owner.program, size, get);
  }

  void check(const char* call, int code) const {
    if (code != 0) throw Error(call, name_ + " error " + std::to_string(code), table_.get_error_string(code));
  }

  Table table_;
  LibraryReport report_;

 private:
  // Destroys a program, whether or not its compilation succeeded.
  struct ProgramOwner {
    explicit ProgramOwner(const Table& functions) : table(functions) {}
    ~ProgramOwner() {
      if (program != nullptr) table.destroy_program(&program);
    }
    ProgramOwner(const ProgramOwner&) = delete;
    ProgramOwner& operator=(const ProgramOwner&) = delete;
    const Table& table;
    Program program = nullptr;
  };

  std::string text_of(Program program, const Size& size, const Get& get) const {
    std::size_t bytes = 0;
    check(size.symbol(), size(program, &bytes));
    std::string text(bytes, '\0');
    check(get.symbol(), get(program, text.data()));
    return text;
  }

  const std::string name_;  // for messages
};

// Throws Unsupported, with the search path, if the compiler is not usable.
inline void require(const KernelCompiler& compiler, const char* name) {
  const Availability availability = compiler.available();
  if (!availability.available) throw Unsupported(name, "unavailable", availability.reason);
}

}  // namespace byteways::gpu
