// Starts programs, and acts as PID 1. Swift cannot do this: the child of vfork(2) may only make system calls, and Swift has
// no fork(2).
#include "HaulCLinux.h"

/// The child's half of haul_start: becomes the program, or returns errno.
///
/// The child shares the caller's memory, so it makes only system calls. It changes the user with raw system calls, because the
/// C library's functions would also change the user in all threads of the caller.
static int become(const struct haul_program *program) {
  int input = program->input >= 0 ? program->input : open("/dev/null", O_RDONLY | O_CLOEXEC);
  // Use descriptor numbers above 2, because the caller may have closed the descriptors 0 to 2.
  input = fcntl(input, F_DUPFD, 3);
  int output = fcntl(program->output, F_DUPFD, 3);
  if (input < 0 || output < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0 ||
      dup2(output, 2) < 0 || syscall(SYS_close_range, 3u, ~0u, 0u) != 0 || setsid() < 0)
    return errno;
  if (program->drops &&
      (syscall(SYS_setgroups, program->group_count, program->groups) != 0 ||
       syscall(SYS_setresgid, program->group, program->group, program->group) != 0 ||
       syscall(SYS_setresuid, program->user, program->user, program->user) != 0))
    return errno;
  if (program->is_private) umask(077);
  if (chdir(program->directory) != 0) return errno;
  struct sigaction action = {.sa_handler = SIG_DFL};
  for (int number = 1; number < NSIG; number++) sigaction(number, &action, NULL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execve(program->path, program->arguments, program->environment);
  return errno;
}

int haul_start(const struct haul_program *program, pid_t *started) {
  sigset_t all, before;
  sigfillset(&all);
  // No signal handler of the caller may run in the child, which shares the caller's memory until execve(2).
  pthread_sigmask(SIG_SETMASK, &all, &before);
  volatile int error = 0;
  pid_t child = vfork();
  if (child == 0) {
    error = become(program);
    _exit(127);
  }
  if (child < 0) error = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (child > 0 && error != 0) waitpid(child, NULL, 0);
  *started = child;
  return error;
}

/// Reaps all processes that have ended. If `child` is one of them, exits with its status.
static void reap(pid_t child) {
  int status;
  pid_t ended;
  while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
    if (ended == child) _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

void haul_leave_first_process(void) {
  if (getpid() != 1) return;
  // If SIGCHLD were ignored, the kernel would not send it.
  signal(SIGCHLD, SIG_DFL);
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  pid_t child = fork();
  if (child <= 0) {
    // If fork failed, PID 1 does the work itself.
    sigprocmask(SIG_SETMASK, &before, NULL);
    return;
  }
  for (;;) {
    int number = sigwaitinfo(&all, NULL);
    if (number == SIGCHLD)
      reap(child);
    else if (number > 0)
      kill(child, number);
  }
}
