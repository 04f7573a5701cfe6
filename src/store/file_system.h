// What kind of file system a folder lies on, as far as a database has to know.
//
//   if (file_system_of(folder).network) …      // no shared memory between hosts: no WAL there
#pragma once

#include <filesystem>
#include <string_view>

namespace fiel::store {

struct FileSystem {
  std::string_view name = "local";  ///< "NFS", "Lustre", "FUSE", …
  bool network = false;             ///< several hosts may have it mounted
};

/// The nearest folder above that exists is asked; local where the system does not say.
FileSystem file_system_of(const std::filesystem::path& folder);

/// By the number that statfs gives.
FileSystem file_system_named(unsigned long magic);

}  // namespace fiel::store
