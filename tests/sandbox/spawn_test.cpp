#include "sandbox/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "sandbox/process_tree.h"

namespace fiel::sandbox {
namespace {

/// A shell command in the sandbox, to its end.
std::unique_ptr<Child> run(const std::string& command, IsolationPolicy policy = {},
                           int64_t timeout_ms = 60'000,
                           std::vector<std::filesystem::path> devices = {}, bool loopback = false) {
  SpawnRequest q;
  q.loopback = loopback;
  q.devices = std::move(devices);
  auto folder = std::filesystem::temp_directory_path();
  q.arguments = {"/bin/sh", "-c", command};
  q.environment = {{"PATH", "/usr/bin:/bin"}, {"GREETING", "hello"}};
  // A shell needs /bin and /usr/bin: what compilers get.
  auto work = TempDir::create("fiel-test-sandbox");
  q.writable = work->path();
  q.drop_root = false;
  auto child = spawn(q, policy);
  EXPECT_TRUE(child) << (child ? "" : to_string(child.error()));
  if (!child) return nullptr;
  int64_t end = now_ms() + timeout_ms;
  while ((*child)->running() && now_ms() < end) (*child)->pump(20);
  (*child)->wait(100);
  return std::move(*child);
}

bool names(const std::vector<std::string>& all, const std::string& what) {
  return std::find(all.begin(), all.end(), what) != all.end();
}

struct WithoutNamespaces {
  IsolationPolicy policy;
  WithoutNamespaces() { policy.wanted = Level::limits; }
};

TEST(Sandbox, OutputAndExitCodeComeBack) {
  auto c = run("echo $GREETING; echo problem >&2; exit 3");
  ASSERT_TRUE(c);
  EXPECT_EQ(c->output, "hello\nproblem\n");
  EXPECT_EQ(c->exit_code, 3);
  EXPECT_EQ(c->signal, 0);
}

TEST(Sandbox, TheEnvironmentIsOnlyWhatWasGiven) {
  ::setenv("FIEL_TEST_SECRET", "s3cret", 1);
  auto c = run("env");
  EXPECT_EQ(c->output.find("s3cret"), std::string::npos) << c->output;
}

/// What a program in the sandbox can do with sockets: "unix:yes inet:no …".
std::string sockets(IsolationPolicy policy, std::vector<std::filesystem::path> devices) {
  auto c = run(R"(python3 - <<'END'
import os, socket
def tried(what):
    try:
        what()
        return "yes"
    except OSError as error:
        return "no" if error.errno == 1 else error.strerror
listener = lambda: (s := socket.socket(socket.AF_UNIX), s.bind(b"\0fiel-test-" + os.urandom(8)), s.listen())
print("unix:" + tried(lambda: socket.socket(socket.AF_UNIX)), "listen:" + tried(listener),
      "connect:" + tried(lambda: socket.socket(socket.AF_UNIX).connect("/x")),
      "inet:" + tried(lambda: socket.socket(socket.AF_INET)),
      "netlink:" + tried(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)))
END
)",
               policy, 60'000, std::move(devices));
  return c ? c->output : "";
}

TEST(Sandbox, ADriverMayListenAndNobodyMayConnect) {
  const std::string none = "unix:no listen:no connect:no inet:no netlink:no\n";
  const std::string local = "unix:yes listen:yes connect:no inet:no netlink:no\n";
  EXPECT_EQ(sockets({}, {}), none);
  EXPECT_EQ(sockets({}, {"/dev/null"}), local);
  EXPECT_EQ(sockets(WithoutNamespaces().policy, {}), none);
  EXPECT_EQ(sockets(WithoutNamespaces().policy, {"/dev/null"}), local);
}

/// What two processes in the sandbox say to each other over TCP, and what else they could reach.
std::string over_loopback(bool loopback, const IsolationPolicy& policy = {},
                          std::vector<std::filesystem::path> devices = {}) {
  auto c = run(R"(python3 - <<'END'
import os, socket
for name in ("127.0.0.1", "localhost"):
    try:
        listener = socket.socket(socket.AF_INET)
        listener.settimeout(10)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 49152))
        listener.listen()
        if os.fork() == 0:
            with socket.create_connection((name, 49152), 10) as s:
                s.sendall(s.recv(16).upper())
            os._exit(0)
        with listener.accept()[0] as s:
            s.sendall(b"echo")
            print(s.recv(16).decode())
        os.wait()
        listener.close()
    except OSError as error:
        print(type(error).__name__)
def tried(family, kind=socket.SOCK_STREAM):
    try:
        return bool(socket.socket(family, kind))
    except OSError as error:
        return "no" if error.errno == 1 else error.strerror
print([n for n in range(64) if tried(n, socket.SOCK_DGRAM) != "no"])
try:
    socket.create_connection(("192.0.2.1", 80), 5)
    print("left")
except OSError as error:
    print(error.errno == 101 or error.errno == 1)
END
)",
               policy, 60'000, std::move(devices), loopback);
  return c ? c->output : "";
}

TEST(Sandbox, WhereItIsWishedProgramsTalkOverLoopbackAndToNobodyElse) {
  if (probe().level != Level::namespaces) GTEST_SKIP() << "no namespaces on this machine";
  const std::string refused = "PermissionError\nPermissionError\n[]\nTrue\n";
  EXPECT_EQ(over_loopback(true), "ECHO\nECHO\n[1, 2, 10, 16]\nTrue\n");
  EXPECT_EQ(over_loopback(true, {}, {"/dev/null"}), "ECHO\nECHO\n[1, 2, 10, 16]\nTrue\n");
  EXPECT_EQ(over_loopback(false), refused);
  // Without namespaces the network would be the machine's.
  EXPECT_EQ(over_loopback(true, WithoutNamespaces().policy), refused);
}

TEST(Sandbox, ASignalIsNamed) {
  auto c = run("kill -SEGV $$");
  EXPECT_EQ(c->signal, 11) << c->exit_code << c->output;
}

TEST(Sandbox, ASignalIsNamedWithoutNamespacesToo) {
  auto c = run("kill -SEGV $$", WithoutNamespaces().policy);
  EXPECT_EQ(c->signal, 11) << c->exit_code << c->output;
}

TEST(Sandbox, TheReportSaysWhatIsInForce) {
  auto c = run("true", WithoutNamespaces().policy);
  EXPECT_EQ(c->isolation().level, Level::limits);
  EXPECT_TRUE(names(c->isolation().in_force, "resource limits"));
  EXPECT_FALSE(names(c->isolation().in_force, "no network"));
  c = run("true");
  if (probe().level != Level::namespaces) GTEST_SKIP() << "no namespaces on this machine";
  EXPECT_EQ(c->isolation().level, Level::namespaces);
  for (const char* what : {"no network", "own processes", "read-only system", "private /tmp"})
    EXPECT_TRUE(names(c->isolation().in_force, what)) << what;
}

TEST(Sandbox, ARequiredLevelThatIsNotToBeHadFailsClosed) {
  IsolationPolicy policy;
  policy.required = Level::namespaces;
  policy.wanted = Level::limits;
  SpawnRequest q;
  q.arguments = {"/bin/true"};
  auto child = spawn(q, policy);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, ErrorCode::environment);
  EXPECT_FALSE(child.error().hint.empty());
}

TEST(Sandbox, WithNamespacesThereIsOnlyItself) {
  if (probe().level != Level::namespaces) GTEST_SKIP() << "no namespaces on this machine";
  auto c =
      run("ls /home /srv /etc/passwd /var 2>&1 | grep -c 'No such file'; ls /sys/class/net 2>&1 "
          "| grep -c eth; touch /usr/x /x 2>&1 | grep -c Read-only");
  EXPECT_EQ(c->output, "4\n0\n2\n");
}

TEST(Sandbox, DescriptorsAreOnlyThoseHandedOver) {
  int leak = ::open("/etc/hostname", O_RDONLY);  // inheritable
  SpawnRequest q;
  q.arguments = {"/bin/sh", "-c", "ls -l /proc/$$/fd"};
  auto work = TempDir::create("fiel-test-sandbox");
  q.writable = work->path();
  q.drop_root = false;
  q.environment = {{"PATH", "/usr/bin:/bin"}};
  int fd = ::memfd_create("given", 0);
  q.descriptors = {{fd, 3}};
  auto child = spawn(q, {});
  ASSERT_TRUE(child) << to_string(child.error());
  (*child)->wait(60'000);
  ::close(leak);
  std::string seen = (*child)->output;
  EXPECT_NE(seen.find("memfd:given"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("hostname"), std::string::npos) << seen;
  // "total 0", then standard input, output, error and the one that was given.
  EXPECT_EQ(std::count(seen.begin(), seen.end(), '\n'), 5) << seen;
}

TEST(Sandbox, MemoryOfAllItsProcessesCounts) {
  IsolationPolicy policy;
  policy.limits.memory_bytes = 128ull << 20;
  // Four processes of 60 MB each, for longer than a busy machine needs to fill them. A shell
  // becomes its last command and gives its memory back: that one is `:`.
  auto c = run(
      "for i in 1 2 3 4; do (x=$(head -c 60000000 /dev/zero | tr '\\0' x); sleep 50; :) & done; "
      "wait",
      policy);
  EXPECT_NE(c->limit.find("memory limit of 128"), std::string::npos) << c->limit << c->output;
  EXPECT_TRUE(c->killed_by_us);
}

/// A Python program in the sandbox, of 128 MiB; $TMPDIR is its private folder, a quarter of that.
std::unique_ptr<Child> python(const std::string& code, IsolationPolicy policy) {
  policy.limits.memory_bytes = 128ull << 20;
  SpawnRequest q;
  q.arguments = {"/usr/bin/python3", "-c", "import os, time\ntmp = os.environ['TMPDIR']\n" + code};
  q.environment = {{"PATH", "/usr/bin:/bin"}, {"TMPDIR", "/tmp"}};
  q.programs = true;
  auto child = spawn(q, policy);
  EXPECT_TRUE(child) << (child ? "" : to_string(child.error()));
  return child ? std::move(*child) : nullptr;
}

/// Its end, by itself or by a limit.
void await(Child& c) {
  for (int64_t end = now_ms() + 60'000; c.running() && now_ms() < end;) c.pump(20);
  c.wait(100);
}

constexpr const char* kMemoryFiles = R"(
kept = [os.memfd_create(str(i)) for i in range(4)]
for file in kept: os.write(file, bytes(40 << 20))
time.sleep(60)
)";
constexpr const char* kRemovedFiles = R"(
for i in range(8):
    file = os.open(tmp + '/x', os.O_CREAT | os.O_WRONLY)
    os.unlink(tmp + '/x')
    os.write(file, bytes(20 << 20))
time.sleep(60)
)";
constexpr const char* kNamedFiles = R"(
for i in range(4): open(f'{tmp}/{i}', 'wb').write(bytes(20 << 20))
time.sleep(60)
)";

TEST(Sandbox, MemoryFilesCountAsMemory) {
  for (const IsolationPolicy& policy : {IsolationPolicy{}, WithoutNamespaces().policy}) {
    auto c = python(kMemoryFiles, policy);
    ASSERT_TRUE(c);
    await(*c);
    EXPECT_NE(c->limit.find("memory limit of 128"), std::string::npos) << c->limit << c->output;
  }
}

TEST(Sandbox, WhatIsWrittenToAPrivateFolderOnADiskIsBounded) {
  auto removed = python(kRemovedFiles, WithoutNamespaces().policy);
  ASSERT_TRUE(removed);
  await(*removed);
  EXPECT_NE(removed->limit.find("memory limit"), std::string::npos)
      << removed->limit << removed->output;
  auto named = python(kNamedFiles, WithoutNamespaces().policy);
  ASSERT_TRUE(named);
  await(*named);
  EXPECT_NE(named->limit.find("of files"), std::string::npos) << named->limit << named->output;
}

TEST(Sandbox, MemoryIsWatchedWhileNobodyWaits) {
  auto c = python(kMemoryFiles, {});
  ASSERT_TRUE(c);
  pollfd ended{c->exit_descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 50'000), 1) << "it lives on";
  c->wait(1'000);
  EXPECT_NE(c->limit.find("memory limit of 128"), std::string::npos) << c->limit << c->output;
  EXPECT_TRUE(c->killed_by_us);
}

TEST(Sandbox, NothingItStartedSurvivesIt) {
  auto c = run("sleep 300 & sleep 301 & echo started");
  pid_t pid = c->pid();
  c.reset();
  const int64_t end = now_ms() + 10'000;  // who is killed is not gone at once
  while (tree_usage(pid).processes > 0 && now_ms() < end) ::usleep(10'000);
  EXPECT_EQ(tree_usage(pid).processes, 0u);
}

TEST(Sandbox, OutputIsBoundedAndCounted) {
  IsolationPolicy policy;
  policy.limits.output_bytes = 1000;
  auto c = run("head -c 5000000 /dev/zero", policy);
  EXPECT_EQ(c->output.size(), 1000u);
  EXPECT_EQ(c->output_bytes, 5'000'000u);
}

TEST(Sandbox, AFileLargerThanItsLimitIsSaidSo) {
  IsolationPolicy policy;
  policy.limits.file_bytes = 1u << 20;
  auto c = run("exec head -c 3000000 /dev/zero > /tmp/f", policy);
  EXPECT_TRUE(c->limit.find("file size limit") != std::string::npos || c->exit_code != 0)
      << c->limit << c->output;
}

TEST(ProcessTree, ANamelessFileIsCountedOnceHoweverManyDescriptorsItHas) {
  const uint64_t before = tree_usage(::getpid(), true).nameless_file_bytes;
  const int fd = ::memfd_create("counted", 0), again = ::dup(fd);
  const std::string bytes(1u << 20, 'x');
  ASSERT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(tree_usage(::getpid(), true).nameless_file_bytes - before, 1u << 20);
  EXPECT_EQ(tree_usage(::getpid()).nameless_file_bytes, 0u);
  ::close(again);
  ::close(fd);
}

TEST(ProcessTree, KnowsThisProcess) {
  TreeUsage u = tree_usage(::getpid());
  EXPECT_GE(u.processes, 1u);
  EXPECT_GT(u.resident_bytes, 1u << 20);
}

}  // namespace
}  // namespace fiel::sandbox
