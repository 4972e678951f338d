// floor DIRECTORY COUNT SIZE: creates COUNT files of SIZE bytes, as a downloader must do it at least, but without a network.
//
// Each file gets its bytes under a hidden name. After every 64 files, one syncfs(2) makes them durable, and they get their
// names. What a downloader takes beyond this time is its own cost and that of the network.

#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUP = 64 };

int main(int argc, char **argv) {
  if (argc != 4) errx(64, "usage: floor DIRECTORY COUNT SIZE");
  long count = atol(argv[2]), size = atol(argv[3]);
  char *bytes = malloc(size);
  if (bytes == NULL) err(1, "malloc");
  memset(bytes, 7, size);
  int directory = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) err(1, "%s", argv[1]);
  for (long first = 1; first <= count; first += GROUP) {
    long end = first + GROUP <= count ? first + GROUP : count + 1;
    char part[32], name[32];
    for (long number = first; number < end; number++) {
      snprintf(part, sizeof part, ".%ld.part", number);
      int file = openat(directory, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file < 0) err(1, "%s", part);
      if (write(file, bytes, size) != size) err(1, "write");
      close(file);
    }
    if (syncfs(directory) != 0) err(1, "syncfs");
    for (long number = first; number < end; number++) {
      snprintf(part, sizeof part, ".%ld.part", number);
      snprintf(name, sizeof name, "%ld.bin", number);
      if (renameat(directory, part, directory, name) != 0) err(1, "%s", name);
    }
    if (fsync(directory) != 0) err(1, "fsync");
  }
  return 0;
}
