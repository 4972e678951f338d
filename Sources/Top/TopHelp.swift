package import Terminal

/// What `?` shows.
package enum TopHelp {
  private static let keys: [(keys: String, meaning: String)] = [
    ("1 to 7, Tab", "another list"),
    ("arrows, j k, PgUp PgDn, g G", "move"),
    ("Enter", "a job; the jobs of a batch, queue, host, failure"),
    ("s, S, i", "sort by another column; turn the order round"),
    ("/, Esc", "only rows that contain a text; all rows"),
    ("f, F, b, o", "jobs of a state; of the row's batch; of its host"),
    ("> <", "jobs: older ones, newer ones"),
    ("p", "pause a job, queue or batch; block a host"),
    ("u", "resume a job, queue or batch; unblock a host"),
    ("c", "cancel a job, or all of a queue, host or batch"),
    ("r", "retry a job; what failed of a queue, host, batch"),
    ("v", "verify the file of a completed job"),
    ("+ -", "let a job have its turn sooner, or later"),
    ("d", "drain a worker: it hands over its work and exits"),
    ("", "c, d and r of many ask before they do it"),
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
