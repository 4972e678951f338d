import HaulCLinux

/// Support for running as PID 1, as in a container without an init process. The kernel drops signals that PID 1 does not
/// handle, and PID 1 must reap orphaned processes (pid_namespaces(7)).
package enum FirstProcess {
  /// If this process is PID 1, continues the program in a child process. PID 1 then forwards signals, reaps orphans and exits
  /// with the child's status. Call this while the process has a single thread.
  package static func leave() { haul_leave_first_process() }
}
