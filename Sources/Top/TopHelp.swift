package import Terminal

/// The help text that the key `?` shows.
package enum TopHelp {
  private static let keys: [(keys: String, meaning: String)] = [
    ("1 to 7, Tab", "show another list"),
    ("arrows, j k, PgUp PgDn, g G", "move the cursor"),
    ("Enter", "open a job, or the jobs of the row"),
    ("s, S, i", "sort by another column; reverse the order"),
    ("/, Esc", "show only rows that contain a text; show all"),
    ("f, F", "show only jobs of the next or previous state"),
    ("b, o", "show only the row's batch or host; again: all"),
    ("> <", "show older or newer jobs"),
    ("p", "pause a job, queue or batch; block a host"),
    ("u", "resume a job, queue or batch; unblock a host"),
    ("c", "cancel a job, or all jobs of the row"),
    ("r", "retry a job, or all failed jobs of the row"),
    ("v", "verify the file of a completed job"),
    ("+ -", "raise or lower the priority of a job"),
    ("d", "drain a worker: it hands over its work and exits"),
    ("", "c and d ask first; r asks only for several jobs"),
    ("Ctrl-L", "draw the screen again"),
    ("q, Ctrl-C", "quit"),
  ]

  package static var lines: [StyledLine] {
    let width = keys.map { DisplayWidth.of($0.keys) }.max() ?? 0
    return keys.map { keys, meaning in
      var line = StyledLine("  " + keys, .bold)
      line.pad(to: width + 4)
      line.append(meaning)
      return line
    }
  }
}
