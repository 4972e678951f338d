// Sends a message to a service manager. Swift has no convenient way to fill in a sockaddr_un.
#include "HaulCLinux.h"
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

int haul_notify(const char *name, const char *message) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(name);
  if (length < 2 || length >= sizeof address.sun_path) return EINVAL;
  memcpy(address.sun_path, name, length);
  // A name in the abstract namespace begins with a null byte, which the environment shows as "@". (sd_notify(3))
  if (name[0] == '@') address.sun_path[0] = '\0';
  int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  ssize_t sent = sendto(descriptor, message, strlen(message), MSG_NOSIGNAL,
                        (const struct sockaddr *)&address, size);
  int error = sent < 0 ? errno : 0;
  close(descriptor);
  return error;
}
