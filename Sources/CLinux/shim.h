// System calls that Glibc's Swift module lacks (variadic, or newer than its headers).
#pragma once
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

/// openat2(2): opens below `directory` without following symbolic links or leaving it.
/// Returns a descriptor, or -1 with errno.
static inline int haul_open_beneath(int directory, const char *path, int flags, unsigned mode) {
  struct open_how how = {
      .flags = (uint64_t)(flags | O_CLOEXEC),
      .mode = mode,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };
  return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

/// renameat2(2). Flags: RENAME_NOREPLACE (1). Returns 0, or -1 with errno.
static inline int haul_renameat2(int from_directory, const char *from, int to_directory,
                                 const char *to, unsigned flags) {
  return (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, flags);
}

/// fallocate(2) from 0 with FALLOC_FL_KEEP_SIZE. Returns 0 or the error number.
static inline int haul_reserve(int descriptor, int64_t length) {
  return fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, length) == 0 ? 0 : errno;
}

/// futimens(2): the time of the last change, in seconds since 1970. Returns 0, or -1 with errno.
static inline int haul_set_modified(int descriptor, int64_t seconds) {
  const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)seconds}};
  return futimens(descriptor, times);
}

/// fsetxattr(2) and fgetxattr(2) of `user.haul.job`. Return 0, or -1 with errno; the length of the value, or -1 with errno.
/// By number: <sys/xattr.h> brings <sys/select.h>, of which Glibc's module has another version.
static inline int haul_set_owner(int descriptor, const char *value, size_t length) {
  return (int)syscall(SYS_fsetxattr, descriptor, "user.haul.job", value, length, 0);
}
static inline ssize_t haul_get_owner(int descriptor, void *value, size_t room) {
  return (ssize_t)syscall(SYS_fgetxattr, descriptor, "user.haul.job", value, room);
}

/// The kind of the file system behind `descriptor` (f_type of fstatfs(2)), or 0.
static inline uint32_t haul_file_system(int descriptor) {
  struct statfs found;
  return fstatfs(descriptor, &found) == 0 ? (uint32_t)found.f_type : 0;
}

/// strerrordesc_np(3), which needs no buffer and no lock: the sentence for an error number, in English.
static inline const char *haul_error_text(int number) {
  const char *text = strerrordesc_np(number);
  return text ? text : "unknown error";
}

/// Columns of the terminal behind `descriptor` (TIOCGWINSZ), or 0.
static inline int haul_terminal_columns(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/// Rows of the terminal behind `descriptor` (TIOCGWINSZ), or 0.
static inline int haul_terminal_rows(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

/// A program to be started, in a session of its own, with nothing of the caller's open but these.
struct haul_program {
  const char *path;
  /// These two end with a null pointer.
  char *const *arguments;
  char *const *environment;
  /// Where it works.
  const char *directory;
  /// Standard input; -1 for /dev/null.
  int input;
  /// Standard output and error.
  int output;
  /// Whether nobody else may read what it writes (umask 077); else as the caller's.
  int is_private;
  /// Whether it runs as the user below instead of the caller's; only root can ask for that.
  int drops;
  uid_t user;
  gid_t group;
  const gid_t *groups;
  size_t group_count;
};

/// The child's half of haul_start: becomes the program, or returns errno.
///
/// The caller's memory is in use, so only system calls are made here, and those that change the user raw:
/// the C library's would ask all threads of the caller's to do the same.
static inline int haul_become(const struct haul_program *program) {
  int input = program->input >= 0 ? program->input : open("/dev/null", O_RDONLY | O_CLOEXEC);
  // Out of the way of the three, which the caller may have closed.
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

/// Starts a program and stores its process id. Returns 0 once it runs, or errno; then nothing is left of it.
static inline int haul_start(const struct haul_program *program, pid_t *started) {
  sigset_t all, before;
  sigfillset(&all);
  // No handler of the caller's may run in the child, which has the caller's memory until it is the program.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  volatile int error = 0;
  pid_t child = vfork();
  if (child == 0) {
    error = haul_become(program);
    _exit(127);
  }
  if (child < 0) error = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (child > 0 && error != 0) waitpid(child, NULL, 0);
  *started = child;
  return error;
}

/// memfd_create(2), closed on exec. Returns a descriptor, or -1 with errno.
static inline int haul_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC); }
