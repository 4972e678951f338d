// libmicrohttpd's calls that Swift cannot make: MHD_start_daemon is variadic. Nothing else happens here.
#pragma once
#include <sys/types.h>
#include <sys/socket.h>
#include <microhttpd.h>

/// What a daemon may use; see MHD_OPTION_* of the same names.
struct haul_http_limits {
  /// Concurrent connections, in all.
  unsigned connections;
  /// Concurrent connections from one address.
  unsigned connections_per_address;
  /// Seconds without a byte after which a connection is closed.
  unsigned idle_seconds;
  /// Bytes of a request's head and of the buffers of its connection.
  size_t memory;
};

/// MHD_start_daemon(3) with a thread of its own that polls, on a socket that listens already and is the daemon's from
/// now on. Returns NULL where it cannot be started; the socket is still the caller's then.
static inline struct MHD_Daemon *haul_http_start(int listening, struct haul_http_limits limits,
                                                 MHD_AccessHandlerCallback answer,
                                                 MHD_RequestCompletedCallback completed,
                                                 void *context) {
  return MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
                          answer, context, MHD_OPTION_LISTEN_SOCKET, listening,
                          MHD_OPTION_CONNECTION_LIMIT, limits.connections,
                          MHD_OPTION_PER_IP_CONNECTION_LIMIT, limits.connections_per_address,
                          MHD_OPTION_CONNECTION_TIMEOUT, limits.idle_seconds,
                          MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.memory,
                          MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, completed,
                          context, MHD_OPTION_END);
}
