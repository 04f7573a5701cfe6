#include "worker/python_launch.h"

#include <sys/socket.h>

#include "worker/python_package.h"

namespace fiel::worker {

PythonLaunch python_launch(const WorkerSpec& spec, const std::string& package, uint64_t max_tasks) {
  // sys.path[0] under -c is the working folder: a torch.py there must not be found.
  static constexpr const char* kStart =
      "import sys, runpy\n"
      "sys.path[0] = sys.argv.pop(1)\n"
      "tasks = int(sys.argv.pop(1))\n"
      "if tasks:\n"
      "    import resource\n"
      "    resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))\n"
      "runpy.run_module('fiel_worker', run_name='__main__', alter_sys=True)\n";
  PythonLaunch launch;
  launch.arguments = {spec.python.executable.string(),
                      "-c",
                      kStart,
                      package,
                      std::to_string(max_tasks),
                      to_string(spec.role),
                      spec.device,
                      "3"};
  launch.variables = {{"PYTHONDONTWRITEBYTECODE", "1"},
                      {"PYTHONUNBUFFERED", "1"},     // its last words must not stay in a buffer
                      {"PYTHONFAULTHANDLER", "1"}};  // a crash names the Python line
  return launch;
}

Result<PythonLaunch> python_launch(const WorkerSpec& spec) {
  FIEL_TRY(PythonPackage package, python_package());
  return python_launch(spec, package.path.string());
}

Result<ChannelEnds> make_channel() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    return fail(ErrorCode::io, "cannot create a channel");
  return ChannelEnds{Fd(fds[0]), Fd(fds[1])};
}

}  // namespace fiel::worker
