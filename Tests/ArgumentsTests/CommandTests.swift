import Testing

@testable import Arguments

private func worker(
  _ arguments: String..., environment: [String: String] = [:]
) throws -> SampleCommand {
  let resolution = sample.resolve(["worker"] + arguments, environment: environment)
  guard case .command(let command as SampleCommand, path: "haul worker") = resolution else {
    throw Unexpected(resolution: "\(resolution)")
  }
  return command
}

private struct Unexpected: Error { var resolution: String }

/// The message of the usage error that `line` (split at spaces) ends in.
private func complaint(_ line: String, environment: [String: String] = [:]) -> String? {
  let words = line.split(separator: " ").map(String.init)
  guard case .usage(let message, let path) = sample.resolve(words, environment: environment) else {
    return nil
  }
  return "\(path): \(message)"
}

struct CommandTests {
  @Test(arguments: [
    ["--concurrency", "4"], ["--concurrency=4"], ["-c", "4"], ["-c4"], ["-v1c4"],
    ["-vv1c4", "--once"],
  ])
  func `a value is read however it is attached, and a flag may be repeated`(
    arguments: [String]
  ) throws {
    let parser = CommandParser<SampleCommand>(environment: [:])
    #expect(try parser.parse(arguments).concurrency == 4)
  }

  @Test func `an array collects its values in place of the default`() throws {
    #expect(try worker().queues == ["default"])
    #expect(try worker("-q", "a", "--queue=b").queues == ["a", "b"])
    #expect(try worker(environment: ["HAUL_QUEUES": "c,d"]).queues == ["c", "d"])
  }

  @Test func `an option goes before the environment, and that before the default`() throws {
    let environment = ["HAUL_CONCURRENCY": "8", "HAUL_ONCE": "yes", "HAUL_DATABASE_URL": ""]
    #expect(try worker("-c2", environment: environment).concurrency == 2)
    let command = try worker(environment: environment)
    #expect(command.concurrency == 8)
    #expect(command.once)
    #expect(command.database.database == nil)
    #expect(try worker().concurrency == 16)
  }

  @Test func `values may begin with a dash, and two dashes end the options`() throws {
    #expect(try worker("--database", "-x").database.database == "-x")
    #expect(try worker("-q-").queues == ["-"])
    let command = try worker("7", "-", "--", "-c", "--")
    #expect(command.priority == 7)
    #expect(command.stores == ["-", "-c", "--"])
    #expect(command.concurrency == 16)
  }

  @Test func `typed values arrive as their types`() throws {
    let command = try worker("--drain-timeout=1h30m", "--limit-rate", "64MiB", "--log-format=json")
    #expect(command.drain == .seconds(5400))
    #expect(command.rate == ByteCount(bytes: 64 << 20))
    #expect(command.format == .json)
  }

  @Test(arguments: [
    ("", "haul: a command is missing."),
    ("wroker", "haul: unknown command 'wroker'. Did you mean 'worker'?"),
    ("zzzzz", "haul: unknown command 'zzzzz'."),
    ("__complet", "haul: unknown command '__complet'."),
    ("--verison", "haul: unknown option '--verison'. Did you mean '--version'?"),
    ("store", "haul store: a command is missing."),
    ("store int", "haul store: unknown command 'int'. Did you mean 'init'?"),
    ("store init a", "haul store init: operand <directory> is missing."),
    ("store init a b c", "haul store init: unexpected operand 'c'."),
    (
      "worker --concurency 4",
      "haul worker: unknown option '--concurency'. Did you mean '--concurrency'?"
    ),
    ("worker --conc 4", "haul worker: unknown option '--conc'. Did you mean '--concurrency'?"),
    ("worker -x", "haul worker: unknown option '-x'."),
    ("worker --concurrency", "haul worker: option '--concurrency' needs a value <n>."),
    ("worker -c", "haul worker: option '-c' needs a value <n>."),
    ("worker --once=1", "haul worker: option '--once' takes no value."),
    (
      "worker -c 0",
      "haul worker: option '-c' must be a whole number from 1 to 1000, not '0'."
    ),
    (
      "worker -c 1 --concurrency=1",
      "haul worker: option '--concurrency' is given more than once. Give it once."
    ),
    (
      "worker --database a --queue b --queue c --database d",
      "haul worker: option '--database' is given more than once. Give it once."
    ),
    (
      "worker --log-format xml",
      "haul worker: option '--log-format' must be text or json, not 'xml'."
    ),
    (
      "worker --log-format jsno",
      "haul worker: option '--log-format' must be text or json, not 'jsno'. Did you mean 'json'?"
    ),
    (
      "worker --limit-rate 1.5G",
      "haul worker: option '--limit-rate' must be a size such as 64MiB or 1GB, not '1.5G'."
    ),
    ("stroe init", "haul: unknown command 'stroe'. Did you mean 'store'?"),
    ("worker high", "haul worker: operand <priority> must be a whole number, not 'high'."),
    (
      "worker \u{1b}[2J",
      "haul worker: operand <priority> must be a whole number, not '\\u001b[2J'."
    ),
  ])
  func `a mistake is told in one sentence`(line: String, message: String) {
    #expect(complaint(line) == message)
  }

  @Test func `a mistake in the environment names the variable`() {
    #expect(
      complaint("worker", environment: ["HAUL_CONCURRENCY": "many"])
        == "haul worker: environment variable HAUL_CONCURRENCY must be a whole number from 1 to "
        + "1000, not 'many'.")
  }
}
