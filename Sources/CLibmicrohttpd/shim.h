// Wrappers for functions of libmicrohttpd that Swift cannot call, because they are variadic or return a union.
#pragma once
#include <sys/types.h>
#include <sys/socket.h>
#include <microhttpd.h>

/// The limits of a daemon; see MHD_OPTION_CONNECTION_LIMIT and MHD_OPTION_CONNECTION_MEMORY_LIMIT.
struct haul_http_limits {
  /// The maximum number of concurrent connections. Further connections wait in the kernel.
  unsigned connections;
  /// The maximum memory of a connection in bytes: the request's head and the buffers.
  size_t memory;
};

/// Starts a daemon with its own polling thread (MHD_start_daemon(3)). The daemon takes over `listening`, a socket that already
/// listens. Returns NULL if the daemon cannot start; the caller then keeps the socket.
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

/// MHD_get_connection_info(3): the connection's socket, or -1 if it is not known.
static inline int haul_http_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}
