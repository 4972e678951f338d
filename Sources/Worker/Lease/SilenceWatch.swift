import HaulSystem
import JobQueue

/// Prevents hosts that do not answer from taking the worker's slots.
///
/// A transfer that has waited for its first byte for ``patience`` no longer takes a slot. There may be as many such transfers as
/// slots. If there are more while jobs of other hosts wait for a slot, the worker gives up those that began last, but only on
/// hosts that have failed or never answered. Haul tries these jobs again later.
final class SilenceWatch: Sendable {
  /// The time without a byte after which a transfer does not count against the slots.
  static let patience = Duration.seconds(3)

  private let runningJobs: RunningJobs
  private let slots: TransferSlots
  private let onChange: @Sendable () -> Void

  /// Creates a watch.
  ///
  /// - Parameter onChange: called when there may be room for other jobs.
  init(
    _ runningJobs: RunningJobs, slots: TransferSlots, onChange: @escaping @Sendable () -> Void
  ) {
    self.runningJobs = runningJobs
    self.slots = slots
    self.onChange = onChange
  }

  /// Checks four times a second until the task is cancelled.
  func run() async {
    while (try? await Task.sleep(for: .milliseconds(250))) != nil { look(now: .now) }
  }

  private func look(now: ContinuousClock.Instant) {
    let silent = runningJobs.running.compactMap { run in
      run.silentSince.map { (run: run, time: now - $0) }
    }.filter { $0.time >= Self.patience }
    if slots.setSilent(Set(silent.map(\.run.lease.token))) { onChange() }
    let hindered = slots.hinderedCount
    guard hindered > 0 else { return }
    // Keep the transfers that have waited longest: a slow host may still answer.
    let probes = silent.filter { $0.run.lease.hostFailures != nil }
    for (run, time) in probes.sorted(by: { $0.time < $1.time }).prefix(hindered) {
      run.giveUp(after: time)
    }
  }
}
