import Foundation
import HaulSystem
import TestSupport
import Testing

@testable import HaulTransfer

/// Servers from public bug reports of other programs, with what a job makes of them in at most five attempts.
@Suite(.timeLimit(.minutes(5)))
struct FieldReportTests {
  private static let attempts = 5

  @Test(arguments: FieldReport.everything)
  func `no server from a bug report leaves a wrong file`(_ report: FieldReport) async throws {
    let bench = try PartTransferBench()
    let origin = try OriginServer(handler: report.answer)
    var error: TransferError?
    for attempt in 1...Self.attempts {
      let start = try attempt == 1 ? begin(report, bench) : goOn(bench)
      let outcome = try await withEngine { engine in
        try await bench.transfer(origin.url("/file.zip"), engine: engine) { order in
          order.stallTimeout = .seconds(2)
          order.resuming = start
        }.run()
      }
      error = outcome.error
      if error == nil { return try check(outcome, report) }
    }
    #expect(report.outcome == error.map { .fails($0.errorClass) }, "\(error?.message ?? "")")
    let part = try bench.scratch.parts().open("part")
    #expect(try report.start == .nothing || part?.size() ?? 0 >= FieldReport.half)
  }

  private func begin(
    _ report: FieldReport, _ bench: PartTransferBench
  ) throws -> (checkpoint: Checkpoint, part: PartFile)? {
    switch report.start {
    case .nothing: nil
    case .half: try bench.earlier(of: FieldReport.file, durable: FieldReport.half)
    case .all: try bench.earlier(of: FieldReport.file, durable: FieldReport.file.length)
    }
  }

  private func goOn(
    _ bench: PartTransferBench
  ) throws -> (checkpoint: Checkpoint, part: PartFile)? {
    bench.saved.value.isEmpty ? nil : try bench.leftBehind()
  }

  private func check(_ outcome: TransferOutcome, _ report: FieldReport) throws {
    switch report.outcome {
    case .file: #expect(try outcome.holds(FieldReport.file))
    case .newFile: #expect(try outcome.holds(FieldReport.new))
    case .emptyFile: #expect(try outcome.holds(Source(seed: 1, length: 0)))
    case .fails(let errorClass): Issue.record("a file, and no \(errorClass)")
    }
  }

  @Test func `the page lists them all`() throws {
    let page = repositoryRoot.appending(path: "docs/seen-in-the-field.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let rows = FieldReport.everything.map { report in
      let (name, number) = (
        report.source.prefix { $0 != "#" }, report.source.split(separator: "#")[1]
      )
      return
        "| [\(report.source)](https://github.com/\(name)/issues/\(number)) | \(report.what) | \(report.outcome.text) |"
    }
    let shown = text.split(separator: "\n").filter { $0.hasPrefix("| [") }.map(String.init)
    #expect(shown == rows)
    #expect(Set(FieldReport.everything.map(\.source)).count == rows.count && rows.count > 30)
  }
}
