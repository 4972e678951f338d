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
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

/// openat2(2): opens a file below `directory` without following symbolic links or leaving the directory. Returns a descriptor,
/// or -1 with errno.
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

/// Reserves `length` bytes from offset 0: fallocate(2) with FALLOC_FL_KEEP_SIZE. Returns 0 or the error number.
static inline int haul_reserve(int descriptor, int64_t length) {
  return fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, length) == 0 ? 0 : errno;
}

/// Sets the modification time of a file, in seconds since 1970: futimens(2). Returns 0, or -1 with errno.
static inline int haul_set_modified(int descriptor, int64_t seconds) {
  const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)seconds}};
  return futimens(descriptor, times);
}

/// The values of fstat(2) and statx(2) that distinguish a file from every other file. `born` is the time of creation in
/// nanoseconds since 1970; 0 if the file system does not report it.
struct haul_identity {
  uint64_t device;
  uint64_t inode;
  int64_t born;
};

/// Finds the identity of an open file. Returns 0, or -1 with errno.
static inline int haul_identify(int descriptor, struct haul_identity *identity) {
  struct statx found;
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &found) == 0) {
    identity->device = makedev(found.stx_dev_major, found.stx_dev_minor);
    identity->inode = found.stx_ino;
    identity->born = !(found.stx_mask & STATX_BTIME)
                         ? 0
                         : (int64_t)found.stx_btime.tv_sec * 1000000000 + (int64_t)found.stx_btime.tv_nsec;
    return 0;
  }
  // A container may forbid statx(2).
  struct stat status;
  if (fstat(descriptor, &status) != 0) return -1;
  *identity = (struct haul_identity){.device = status.st_dev, .inode = status.st_ino};
  return 0;
}

/// fsetxattr(2) and fgetxattr(2) of `user.haul.job`. The first returns 0, the second the length of the value; on failure, both
/// return -1 with errno. Raw system calls avoid <sys/xattr.h>, which includes another <sys/select.h> than Glibc's module.
static inline int haul_set_owner(int descriptor, const char *value, size_t length) {
  return (int)syscall(SYS_fsetxattr, descriptor, "user.haul.job", value, length, 0);
}
static inline ssize_t haul_get_owner(int descriptor, void *value, size_t room) {
  return (ssize_t)syscall(SYS_fgetxattr, descriptor, "user.haul.job", value, room);
}

/// The type of the file system behind `descriptor` (f_type of fstatfs(2)), or 0 if it cannot be read.
static inline uint32_t haul_file_system(int descriptor) {
  struct statfs found;
  return fstatfs(descriptor, &found) == 0 ? (uint32_t)found.f_type : 0;
}

/// Returns the English text for an error number. strerrordesc_np(3) needs no buffer and no lock.
static inline const char *haul_error_text(int number) {
  const char *text = strerrordesc_np(number);
  return text ? text : "unknown error";
}

/// The number of columns of the terminal behind `descriptor` (TIOCGWINSZ), or 0 if there is no terminal.
static inline int haul_terminal_columns(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/// The number of rows of the terminal behind `descriptor` (TIOCGWINSZ), or 0 if there is no terminal.
static inline int haul_terminal_rows(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

/// A program to start in a session of its own. From the caller, it inherits only the descriptors below.
struct haul_program {
  const char *path;
  /// Both arrays end with a null pointer.
  char *const *arguments;
  char *const *environment;
  /// The working directory.
  const char *directory;
  /// Standard input; -1 for /dev/null.
  int input;
  /// Standard output and error.
  int output;
  /// Whether only the program's user may read the files that it creates (umask 077). Otherwise the caller's umask applies.
  int is_private;
  /// Whether the program runs as the user and with the groups below, instead of the caller's. This needs root.
  int drops;
  uid_t user;
  gid_t group;
  const gid_t *groups;
  size_t group_count;
};

/// Starts a program and stores its process ID. Returns 0 once the program runs. Otherwise returns the error number, and no
/// process remains.
int haul_start(const struct haul_program *program, pid_t *started);

/// If the caller is PID 1, as in a container without an init, forks and returns only in the child. PID 1 forwards signals,
/// reaps orphaned processes and exits with the child's status, or with 128 plus the signal's number. Does nothing if the caller
/// is not PID 1. Call it while the process has only one thread.
void haul_leave_first_process(void);

/// Sends `message` to the datagram socket `name` of a service manager: sd_notify(3). Returns 0 or the error number.
int haul_notify(const char *name, const char *message);

/// memfd_create(2), closed on exec. Returns a descriptor, or -1 with errno.
static inline int haul_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC); }
