// SPDX-License-Identifier: Apache-2.0
//
// A second process that runs a function of the same test program.
//
// The program's main() calls runChildRole() first. Both sides talk through two
// pipes, so whoever waits for a message also waits for what was done before it.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>

extern char** environ;

namespace dipu::softdevice {

// One end of the conversation.
class Channel {
 public:
  Channel(int in, int out) : in_(in), out_(out) {}
  template <typename T>
  void send(const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (write(out_, &value, sizeof(T)) != sizeof(T)) std::abort();
  }
  // Zeros when the other side has ended.
  template <typename T>
  T receive() const {
    T value{};
    std::size_t got = 0;
    while (got < sizeof(T)) {
      const ssize_t n =
          read(in_, reinterpret_cast<char*>(&value) + got, sizeof(T) - got);
      if (n <= 0) return T{};
      got += n;
    }
    return value;
  }

 protected:
  int in_;
  int out_;
};

using ChildRole = void (*)(const Channel&);
using ChildRoles = std::map<std::string, ChildRole>;

// Spawned from this program; killed and waited for at the end.
class ChildProcess : public Channel {
 public:
  explicit ChildProcess(const char* role) : Channel(-1, -1) {
    int to_child[2];
    int from_child[2];
    if (pipe2(to_child, O_CLOEXEC) != 0 || pipe2(from_child, O_CLOEXEC) != 0) {
      std::abort();
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to_child[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from_child[1], STDOUT_FILENO);
    char program[] = "/proc/self/exe";
    char flag[] = "--child_role";
    std::string name = role;
    char* arguments[] = {program, flag, name.data(), nullptr};
    if (posix_spawn(&pid_, program, &actions, nullptr, arguments, environ)) {
      std::abort();
    }
    posix_spawn_file_actions_destroy(&actions);
    close(to_child[0]);
    close(from_child[1]);
    in_ = from_child[0];
    out_ = to_child[1];
  }
  ~ChildProcess() {
    kill();
    close(in_);
    close(out_);
  }

  // As a crash does, without any cleaning up.
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  // Waits for the child to end by itself; its exit code.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

// Runs the role that the command line names, if it names one, and exits.
inline void runChildRole(int argc, char** argv, const ChildRoles& roles) {
  if (argc != 3 || std::strcmp(argv[1], "--child_role") != 0) return;
  // Messages own the pipe; whatever else prints goes to stderr.
  const int out = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  roles.at(argv[2])(Channel(STDIN_FILENO, out));
  std::exit(0);
}

}  // namespace dipu::softdevice
