#include "store/file_system.h"

#include <sys/vfs.h>

namespace fiel::store {

FileSystem file_system_named(unsigned long magic) {
  // statfs(2) and linux/magic.h; those of Lustre, GPFS and BeeGFS are their own.
  struct Row {
    unsigned long magic;
    std::string_view name;
  };
  static constexpr Row rows[] = {
      {0x6969, "NFS"},       {0x0BD00BD0, "Lustre"}, {0x65735546, "FUSE"}, {0x517B, "SMB"},
      {0xFF534D42, "CIFS"},  {0xFE534D42, "SMB2"},   {0x01021997, "9P"},   {0x00C36400, "Ceph"},
      {0x47504653, "GPFS"},  {0x19830326, "BeeGFS"}, {0x5346414F, "AFS"},  {0x73757245, "Coda"},
      {0x7461636f, "OCFS2"}, {0x01161970, "GFS2"},   {0x61756673, "AUFS"},
  };
  for (const Row& row : rows)
    if (row.magic == (magic & 0xFFFFFFFFul)) return {row.name, true};
  return {};
}

FileSystem file_system_of(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(folder, error);
  struct statfs info = {};
  while (!place.empty()) {
    if (statfs(place.c_str(), &info) == 0)
      return file_system_named(static_cast<unsigned long>(info.f_type));
    if (place == place.root_path()) break;
    place = place.parent_path();
  }
  return {};
}

}  // namespace fiel::store
