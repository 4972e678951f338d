import Foundation
import TestSupport
import Testing

/// `haul top` on a machine that one has logged in to by ssh.
struct TopOverSSHTests {
  @Test func `it is shown through sshd, takes keys, and leaves the terminal as it was`()
    async throws
  {
    let server = try await SFTPServer()
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h.test/a", "--batch", "monday")
      let directory = try TemporaryDirectory()
      // sshd gives its sessions no environment of ours.
      try directory.write(
        """
        export HAUL_DATABASE_URL='\(pool.database.conninfo)' LC_ALL=C.UTF-8
        exec '\(HaulProcess.path)' top
        """, to: "remote")
      try directory.write(
        """
        exec ssh -tt -F none -i '\(server.key)' -o 'UserKnownHostsFile="\(server.knownHosts)"' \
        -p \(server.port) '\(server.user)@127.0.0.1' "sh '\(directory.path("remote"))'"
        """, to: "local")
      let screen = try await TerminalScreen.shell(
        columns: 110, rows: 24, environment: ["DIR": directory.path])
      try await screen.type("cd \"$DIR\"; stty -a > before; echo at home", "Enter")
      try await screen.wait(for: "the shell") { $0.rows.contains("at home") }
      try await screen.type("sh local; echo \"exit $?\"", "Enter")
      try await screen.wait(for: "the first frame") { content in
        !content.hasCursor && content.rows.first?.hasPrefix("haul top") == true
          && content.rows.count == 24 && content.rows.last?.contains("q quit") == true
          && !content.rows.contains("at home")
      }
      try await screen.type("5")
      try await screen.wait(for: "the batch") { $0.rows.contains { $0.contains("monday") } }
      // Its size goes with it.
      try await screen.resize(columns: 140, rows: 30)
      try await screen.wait(for: "30 rows") { $0.rows.count == 30 && !$0.hasCursor }
      try await screen.type("q")
      try await screen.wait(for: "the shell as it was") { content in
        content.hasCursor && content.rows.contains("at home") && content.rows.contains("exit 0")
          && ["$", "#"].contains(content.rows.last)
      }
      try await screen.type(
        "stty -a | sed 's/rows.*columns [0-9]*//' > after; sed -i 's/rows.*columns [0-9]*//' before; echo told",
        "Enter")
      try await screen.wait(for: "the settings") { $0.rows.contains("told") }
      let settings = try ["before", "after"].map {
        try String(contentsOfFile: directory.path($0), encoding: .utf8)
      }
      #expect(settings[0].contains("speed") && settings[0] == settings[1])
    }
  }
}
