#include "sandbox/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace fiel::sandbox {
namespace {

// Debian 12's header knows an older version of the interface than kernels have: by number.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr uint64_t kExecute = 1u << 0, kWriteFile = 1u << 1, kReadFile = 1u << 2,
                   kReadDir = 1u << 3, kAllOfVersion1 = (1u << 13) - 1, kRefer = 1u << 13,
                   kTruncate = 1u << 14;
constexpr uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate;

struct RulesetAttributes {
  uint64_t handled_fs;
};
struct [[gnu::packed]] PathBeneath {
  uint64_t allowed;
  int32_t parent_fd;
};

void allow(int rules, const std::filesystem::path& path, uint64_t access) {
  Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0) return;
  if (!S_ISDIR(st.st_mode)) access &= kOfFiles;
  PathBeneath rule{access, fd.get()};
  ::syscall(kAddRule, rules, 1 /* LANDLOCK_RULE_PATH_BENEATH */, &rule, 0);
}

}  // namespace

Result<Fd> landlock_rules(const std::vector<std::filesystem::path>& readable,
                          const std::vector<std::filesystem::path>& writable) {
  long version = ::syscall(kCreateRuleset, nullptr, 0, 1u /* LANDLOCK_CREATE_RULESET_VERSION */);
  if (version < 1)
    return fail(ErrorCode::environment, std::string("Landlock: ") + std::strerror(errno),
                "a kernel of 5.13 or later with landlock among its security modules has it");
  RulesetAttributes a{kAllOfVersion1};
  if (version >= 2) a.handled_fs |= kRefer;
  if (version >= 3) a.handled_fs |= kTruncate;
  Fd rules(static_cast<int>(::syscall(kCreateRuleset, &a, sizeof a, 0)));
  if (!rules) return fail(ErrorCode::environment, std::string("Landlock: ") + std::strerror(errno));
  for (const auto& p : readable) allow(rules.get(), p, kExecute | kReadFile | kReadDir);
  for (const auto& p : writable) allow(rules.get(), p, a.handled_fs);
  // Programs expect these; they hold nothing.
  for (const char* p : {"/dev/null", "/dev/zero", "/dev/full"})
    allow(rules.get(), p, (kReadFile | kWriteFile | kTruncate) & a.handled_fs);
  for (const char* p : {"/dev/urandom", "/dev/random"}) allow(rules.get(), p, kReadFile);
  return rules;
}

bool landlock_confine(int rules) { return ::syscall(kRestrictSelf, rules, 0) == 0; }

}  // namespace fiel::sandbox
