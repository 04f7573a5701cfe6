// tests/agent/model_server.py as a child of the tests, ended with them.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "places.h"

namespace fiel::agent {

class ModelServer {
 public:
  static ModelServer& instance() {
    static ModelServer server;
    return server;
  }
  std::string url(const std::string& scenario) const {
    return "http://127.0.0.1:" + port_ + "/" + scenario + "/v1";
  }

 private:
  ModelServer() {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::execlp("python3", "python3", in_source("tests/agent/model_server.py").c_str(), nullptr);
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    hold_ = in[1];
    for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) port_ += c;
    ::close(out[0]);
  }
  ~ModelServer() {
    ::close(hold_);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid_ = -1;
  int hold_ = -1;
  std::string port_;
};

}  // namespace fiel::agent
