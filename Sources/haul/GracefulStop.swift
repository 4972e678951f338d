import HaulSystem

extension StopSignals {
  /// Handles stop signals, as ``handle(_:atOnce:)`` does, for a command that holds leases. After a second signal a message says
  /// what becomes of them.
  static func stopGracefully(
    _ stop: @escaping @Sendable () -> Void, abandon: @escaping @Sendable () -> Void = {}
  ) {
    handle(
      stop,
      atOnce: {
        abandon()
        // Nobody is left to tell when standard error is closed; the exit code still says it.
        StandardStream.say("haul: stopped at once. Other workers take over the running jobs.\n")
      })
  }
}
