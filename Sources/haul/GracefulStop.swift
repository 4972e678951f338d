import HaulSystem

extension StopSignals {
  /// Handles stop signals like ``handle(_:atOnce:)``, for a command that holds leases. After a second signal, a message says
  /// what happens to the leases.
  static func stopGracefully(
    _ stop: @escaping @Sendable () -> Void, abandon: @escaping @Sendable () -> Void = {}
  ) {
    handle(
      stop,
      atOnce: {
        abandon()
        // If standard error is closed, the exit code still reports the stop.
        StandardStream.say("haul: stopped immediately. Other workers take over the running jobs.\n")
      })
  }
}
