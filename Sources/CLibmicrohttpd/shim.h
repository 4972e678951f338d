// libmicrohttpd's calls that Swift cannot make, because they are variadic. Nothing else happens here.
#pragma once
#include <sys/types.h>
#include <sys/socket.h>
#include <microhttpd.h>

/// What a daemon may use; see MHD_OPTION_* of the same names.
struct haul_http_limits {
  /// Concurrent connections, in all. Further ones wait in the kernel.
  unsigned connections;
  /// Bytes of a request's head and of the buffers of its connection.
  size_t memory;
};

/// MHD_start_daemon(3) with a thread of its own that polls, on a socket that listens already and is the daemon's from
/// now on. Returns NULL where it cannot be started; the socket is still the caller's then.
static inline struct MHD_Daemon *haul_http_start(int listening, struct haul_http_limits limits,
                                                 MHD_AccessHandlerCallback answer,
                                                 MHD_RequestCompletedCallback completed,
                                                 MHD_NotifyConnectionCallback connected,
                                                 void *context) {
  return MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
                          answer, context, MHD_OPTION_LISTEN_SOCKET, listening,
                          MHD_OPTION_CONNECTION_LIMIT, limits.connections,
                          MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.memory,
                          MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, completed,
                          context, MHD_OPTION_NOTIFY_CONNECTION, connected, context,
                          MHD_OPTION_END);
}

/// MHD_get_connection_info(3): the connection's socket, or -1.
static inline int haul_http_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}
