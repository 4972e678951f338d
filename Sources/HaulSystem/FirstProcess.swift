import HaulCLinux

/// The first process of a PID namespace, as in a container without an init: signals that it does not handle have no effect on
/// it, and what other programs leave behind is its to reap (pid_namespaces(7)).
package enum FirstProcess {
  /// Where the caller is one, goes on in a child, while the first process passes signals on, reaps, and ends as the child
  /// does. To be called while there is a single thread.
  package static func leave() { haul_leave_first_process() }
}
