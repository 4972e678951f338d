// System calls that Glibc's Swift module lacks (variadic, or newer than its headers).
#pragma once
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
