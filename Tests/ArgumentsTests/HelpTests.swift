import Testing

@testable import Arguments

private func help(_ line: String, environment: [String: String] = [:]) -> String? {
  let words = line.split(separator: " ").map(String.init)
  guard case .text(let text) = sample.resolve(words, environment: environment) else { return nil }
  return text
}

/// An option whose values are more than the help of one option has room for, and one that has just room.
private struct Chooser: Command {
  enum Many: String, CaseIterable, OptionValue {
    case a, b, c, d, e, f, g, h, i, j, k, l, m
  }
  enum Few: String, CaseIterable, OptionValue {
    case a, b, c, d, e, f, g, h, i, j, k, l
  }
  static let name = "choose"
  static let abstract = "Choose."
  static let options: [Option<Self>] = [
    .value("many", "<many>", \.many, "One of many."), .value("few", "<few>", \.few, "One of few."),
  ]
  static let operands: [Operand<Self>] = []
  var many: Many?
  var few: Few?
  func run() async throws {}
}

struct HelpTests {
  @Test
  func `a dozen values are named in an option's help, more are not, and are taken all the same`() {
    let node = CommandNode(Chooser.self)
    #expect(
      node.options.prefix(2).map(HelpFormatter.describe) == [
        "One of many.", "One of few. (values: a, b, c, d, e, f, g, h, i, j, k, l)",
      ])
    #expect(node.options[0].candidates.count == 13)
  }

  @Test(arguments: ["worker --help", "worker -h", "help worker", "worker -vh", "worker x --help"])
  func `help of a command`(line: String) {
    #expect(
      help(line) == """
        OVERVIEW: Run a worker.

        Claims jobs of its queues and transfers them until it is told to stop; a second
        paragraph is rewrapped to the width of the terminal.

          kept   as it is

        USAGE: haul worker [<options>] [<priority>] [<store> ...]

        ARGUMENTS:
          <priority>              Only jobs of this priority.
          <store>                 Stores to serve.

        OPTIONS:
          -c, --concurrency <n>   Transfers in flight. (default: 16)
                                  [env: HAUL_CONCURRENCY]
          -q, --queue <name>      A queue. (default: default) [env: HAUL_QUEUES]
          --drain-timeout <duration>
                                  How long a drain may take. (default: 30s)
          --limit-rate <size>     Bytes a second.
          --log-format <format>   How lines of the log look. (values: text, json;
                                  default: text)
          -1, --once              Stop when idle. [env: HAUL_ONCE]
          -v, --verbose           Say more.
          -h, --help              Show help information.

        DATABASE OPTIONS:
          --database <conninfo>   How to reach the database. [env: HAUL_DATABASE_URL]

        EXAMPLES:
          haul worker --queue films
              Transfers the queue films.

        """)
  }

  @Test(arguments: ["--help", "help", "-h"])
  func `help of the program lists commands but not hidden ones`(line: String) {
    #expect(
      help(line) == """
        OVERVIEW: A distributed download worker pool.

        USAGE: haul [<options>] <command>

        OPTIONS:
          --version               Show the version.
          -h, --help              Show help information.

        RUN:
          worker                  Run a worker.

        MANAGE:
          store                   Manage stores.

          See 'haul <command> --help' for more.

        EXIT CODES:
          0                       success
          1                       some jobs failed or were cancelled
          64                      wrong usage
          65                      bad input, or a name that does not exist
          69                      database unreachable, or a port in use
          74                      input or output failed
          75                      not finished: run the same command again, now or later
          77                      not permitted
          78                      wrong configuration
          130                     stopped by Ctrl-C. Exceptions: get exits with 75 if
                                  files are left; up, worker and coordinator exit with 0
                                  (75 after a second Ctrl-C)

        """)
  }

  @Test func `help fills the width that COLUMNS gives`() {
    let lines = help("worker -h", environment: ["COLUMNS": "60"])?.split(separator: "\n")
    #expect(lines?.map(\.count).max() == 60)
  }

  @Test func `the version stands alone on a line`() {
    #expect(help("--version") == "haul 1.2.3\n")
  }
}
