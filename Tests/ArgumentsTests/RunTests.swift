import Foundation
import Testing

@testable import Arguments

private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// Each runs a process of its own, because it is about what the process writes and returns.
struct RunTests {
  @Test func `help goes to standard output and is a success`() async throws {
    let result = try #require(
      await #expect(
        processExitsWith: .exitCode(0),
        observing: [\.standardOutputContent, \.standardErrorContent]
      ) {
        exit(await sample.run(arguments: ["worker", "--help"], environment: [:]))
      })
    #expect(text(result.standardOutputContent).contains("OVERVIEW: Run a worker.\n"))
  }

  @Test func `a usage error goes to standard error with the way to help`() async throws {
    let result = try #require(
      await #expect(processExitsWith: .exitCode(64), observing: [\.standardErrorContent]) {
        exit(await sample.run(arguments: ["worker", "--onse"], environment: [:]))
      })
    #expect(
      text(result.standardErrorContent) == """
        haul worker: unknown option '--onse'. Did you mean '--once'?
        See 'haul worker --help'.

        """)
  }

  @Test func `an error of a command is one line and its exit code`() async throws {
    let result = try #require(
      await #expect(processExitsWith: .exitCode(78), observing: [\.standardErrorContent]) {
        exit(await sample.run(arguments: ["store", "init", "a", "b\nc"], environment: [:]))
      })
    #expect(text(result.standardErrorContent) == "haul store init: no directory b\\u000ac.\n")
  }

  @Test func `a command that returns is a success`() async {
    await #expect(processExitsWith: .exitCode(0)) {
      exit(await sample.run(arguments: ["worker"], environment: [:]))
    }
  }
}
