package import JobQueue
import Synchronization
package import Terminal

/// Shows the progress of a submission, such as `1250000 lines read, 61200/s`.
package final class SubmitProgress: Sendable {
  private struct State {
    var meter = RateMeter()
    var isStaging = true
  }

  private let display: ProgressDisplay
  private let state = Mutex(State())

  package init(on display: ProgressDisplay) { self.display = display }

  package func take(_ step: SubmissionStep) {
    switch step {
    case .staged(let lines):
      display.show("\(counted(lines, "line")) read\(rate(lines, isStaging: true))")
    case .checking: display.show("comparing the lines with each other and with existing jobs")
    case .waiting(let lines):
      display.show(
        "waiting until \(counted(lines, "running job")) \(lines == 1 ? "has" : "have") stopped, to replace \(lines == 1 ? "it" : "them")"
      )
    case .submitted(let lines, of: let all):
      let rate = rate(lines, isStaging: false)
      display.show(
        "\(lines) of \(counted(all, "line")) submitted\(rate)")
    }
  }

  /// Returns the rate as text, such as `, 61200/s`. The text is empty if the rate is not known yet.
  private func rate(_ lines: Int, isStaging: Bool) -> String {
    let rate = state.withLock { state in
      if state.isStaging != isStaging { state = State(isStaging: isStaging) }
      state.meter.add(Int64(lines), at: .now)
      return state.meter.rate
    }
    return rate > 0 ? ", \(rate)/s" : ""
  }
}
