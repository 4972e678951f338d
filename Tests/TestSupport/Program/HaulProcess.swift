import Foundation
import Glibc

/// One line of a program's log in JSON.
package struct LogLine: Sendable, CustomStringConvertible {
  package let text: String
  /// The line's place in standard error, from 0: a cursor for ``HaulProcess/event(_:after:within:where:)``.
  package let index: Int
  package let event: String
  private let fields: [String: String]

  /// The value of a field; numbers and truth values in JSON's spelling.
  package subscript(field name: String) -> String? { fields[name] }

  package var description: String { text }

  /// Its time by the machine's wall clock, in milliseconds since 1970.
  package var milliseconds: Int64 {
    get throws {
      let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
      return Int64((try style.parse(fields["time"] ?? "").timeIntervalSince1970 * 1000).rounded())
    }
  }

  /// Nil if the text is not a JSON object with an `event`.
  init?(_ text: String, index: Int) {
    guard let fields = try? JSONDecoder().decode([String: Scalar].self, from: Data(text.utf8)),
      let event = fields["event"]?.text
    else { return nil }
    self.text = text
    self.index = index
    self.event = event
    self.fields = fields.mapValues(\.text)
  }

  /// A JSON value that is neither array nor object.
  private struct Scalar: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      if let flag = try? value.decode(Bool.self) {
        text = "\(flag)"
      } else if let number = try? value.decode(Int64.self) {
        text = "\(number)"
      } else if let number = try? value.decode(Double.self) {
        text = "\(number)"
      } else {
        text = value.decodeNil() ? "null" : try value.decode(String.self)
      }
    }
  }
}

/// The built `haul` program, started by a test that reads its log as events.
package final class HaulProcess: Sendable {
  package let child: ChildProcess

  /// The program, beside the test bundle: `.build/debug/haul`.
  package static var path: String {
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
    var directory = URL(fileURLWithPath: bundle).deletingLastPathComponent()
    while directory.path != "/" && access(directory.path + "/haul", X_OK) != 0 {
      directory.deleteLastPathComponent()
    }
    return directory.path + "/haul"
  }

  /// Starts `haul`, or another program that logs as it does; pass `--log-format json` to read events.
  package init(
    _ arguments: [String], program: String = path, environment: [String: String] = [:],
    directory: String? = nil
  ) throws {
    child = try ChildProcess(
      program, arguments, environment: environment, directory: directory)
  }

  /// Waits for the first line of that event in the log, of those that came before the call too.
  ///
  /// With `after`, only lines later than that one count.
  ///
  /// - Throws: ``TimedOut`` with the last 40 lines of the log; `CancellationError`.
  @discardableResult
  package func event(
    _ name: String, after: LogLine? = nil, within limit: Duration = .seconds(30),
    where matches: @escaping @Sendable (LogLine) -> Bool = { _ in true }
  ) async throws -> LogLine {
    let cursor = Watched((after?.index ?? -1) + 1)
    return try await child.first("event \(name)", within: limit) { output in
      cursor.update { next in
        while next < output.standardError.count {
          defer { next += 1 }
          let line = LogLine(output.standardError[next], index: next)
          if let line, line.event == name, matches(line) { return line }
        }
        return nil
      }
    }
  }

  /// All lines of that event so far.
  package func events(_ name: String) -> [LogLine] {
    child.output.value.standardError.enumerated()
      .compactMap { LogLine($0.element, index: $0.offset) }
      .filter { $0.event == name }
  }

  package func signal(_ number: Int32) { child.signal(number) }

  @discardableResult
  package func exit(within limit: Duration = .seconds(30)) async throws -> ChildProcess.Exit {
    try await child.exit(within: limit)
  }
}
