// File names of MPI libraries and of the launchers that belong to them.
#pragma once
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace byteways {

// Sonames, those of the family first: "Open MPI", "MPICH" or "" (unknown). A '*' stands for a compiler's
// version, as in libmpi_gnu_*.so.12: the dynamic linker cannot find these.
std::vector<std::string> mpi_sonames(const std::string& family);

// Existing files of the folder with this name; with a '*', newest version first.
std::vector<std::filesystem::path> files_named(const std::filesystem::path& folder,
                                               const std::string& soname);

// MPI libraries that this process has loaded, and of all that it has loaded those whose file names begin so.
std::set<std::string> loaded_mpi_libraries();
std::set<std::string> loaded_libraries_named(const std::string& beginning);

// The MPI family of a launcher, by the name of its file; empty: unknown.
std::string family_of_launcher(const std::string& path);
// Whether a program starts ranks, of whichever family.
bool is_mpi_launcher(const std::string& path);
// Folders of the libraries of the MPI that a launcher belongs to: PREFIX/bin has the launcher, or the link to
// it. Intel's lie in lib/release.
std::vector<std::filesystem::path> library_folders_of(const std::string& launcher);

// The path without links; as it is if the file does not exist.
std::string canonical_path(const std::string& path);

}  // namespace byteways
