import Synchronization
import Testing

@testable import Log

/// Collects lines; its clock stands at 2026-11-21T12:00:00.123Z.
private final class Collected: Sendable {
  private let bytes = Mutex<[UInt8]>([])
  private let calls = Mutex(0)

  var output: LogOutput {
    LogOutput { line in
      self.bytes.withLock { $0 += line }
      self.calls.withLock { $0 += 1 }
    }
  }

  func logger(_ format: Logger.Format, level: Logger.Level = .debug) -> Logger {
    Logger(
      format: format, level: level, component: "worker", output: output,
      clock: { WallTime(milliseconds: 1_795_262_400_123) })
  }

  var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
  var writes: Int { calls.withLock { $0 } }
}

struct LogTests {
  @Test func `a text line is time, level, event and fields`() {
    let lines = Collected()
    let logger = lines.logger(.text).with((.worker, 2))
    logger.info(.jobStarted, (.job, 1), (.path, "a b"), (.url, "http://h/x?a=b"))
    logger.warning(
      .workerIdle, (.seconds, 1.5), (.resumed, false), (.reason, ""),
      (.after, LogValue(.microseconds(1_503_421))))
    #expect(
      lines.text == """
        12:00:00.123 info  job.started  worker=2 job=1 path="a b" url=http://h/x?a=b
        12:00:00.123 warning worker.idle  worker=2 seconds=1.5 resumed=false after=1.503

        """)
    #expect(lines.writes == 2)
  }

  @Test func `what a filter does not let through is lost`() {
    let lines = Collected()
    let logger = Logger(
      format: .text, level: .info, component: "worker",
      output: lines.output.filtered { $0 != .jobStarted })
    logger.info(.jobStarted)
    logger.info(.workerIdle)
    #expect(lines.writes == 1)
    #expect(lines.text.contains("worker.idle"))
  }

  @Test func `a JSON line is one object`() {
    let lines = Collected()
    let logger = lines.logger(.json).with((.worker, 2))
    logger.error(.jobFailed, (.job, 1), (.path, "a b"), (.rate, .double(.nan)), (.resumed, true))
    #expect(
      lines.text == #"{"time":"2026-11-21T12:00:00.123Z","level":"error","event":"job.failed","#
        + #""component":"worker","worker":2,"job":1,"path":"a b","rate":"nan","resumed":true}"#
        + "\n")
  }

  @Test func `lines below the level are not written`() {
    let lines = Collected()
    let logger = lines.logger(.text, level: .warning)
    logger.debug(.jobStarted)
    logger.info(.jobStarted)
    #expect(lines.writes == 0)
    logger.warning(.jobStarted)
    logger.error(.jobStarted)
    #expect(lines.writes == 2)
  }

  @Test(arguments: [
    ("a\nb", #""a\nb""#), ("\r\t", #""\r\t""#), ("\u{1b}[2J", #""\u001b[2J""#),
    ("a\"b\\c", #""a\"b\\c""#), ("\u{0}\u{7f}\u{85}", #""\u0000\u007f\u0085""#),
    ("\u{2028}\u{202e}x", #""\u2028\u202ex""#), ("\u{e0041}", #""\udb40\udc41""#),
    ("köln", #""köln""#),
  ])
  func `a hostile value cannot forge a line`(value: String, spelled: String) {
    for format in Logger.Format.allCases {
      let lines = Collected()
      lines.logger(format).info(.jobStarted, (.path, .string(value)))
      #expect(lines.text.hasSuffix(format == .json ? "\(spelled)}\n" : "path=\(spelled)\n"))
      #expect(lines.text.utf8.count { $0 == 10 } == 1)
    }
  }

  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    (951_868_799_999, "2000-02-29T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    (1_735_689_599_001, "2024-12-31T23:59:59.001Z"), (-1, "1969-12-31T23:59:59.999Z"),
  ])
  func `times are spelled in UTC`(milliseconds: Int64, spelled: String) {
    var bytes: [UInt8] = []
    WallTime(milliseconds: milliseconds).appendDateTime(to: &bytes)
    #expect(String(decoding: bytes, as: UTF8.self) == spelled)
  }

  @Test func `names of events and fields are lower case words`() {
    let names = LogEvent.allCases.map(\.rawValue) + LogField.allCases.map(\.rawValue)
    #expect(names.allSatisfy { $0.allSatisfy { $0.isLowercase || $0 == "." || $0 == "_" } })
    #expect(LogEvent.allCases.allSatisfy { $0.rawValue.split(separator: ".").count == 2 })
  }
}

struct RepeatedLinesTests {
  @Test func `a complaint is told once a minute, with how often it came`() {
    let lines = Collected()
    let time = Mutex<Int64>(0)
    let logger = Logger(
      format: .text, level: .info, component: "worker", output: lines.output,
      clock: { WallTime(milliseconds: time.withLock { $0 }) })
    for second in 0..<130 {
      time.withLock { $0 = Int64(second) * 1000 }
      // Of two components that log by one logger.
      logger.with((.worker, 1)).warning(.databaseLost, (.reason, "disk"))
      if second < 2 { logger.with((.worker, 2)).warning(.databaseLost, (.reason, "disk")) }
    }
    time.withLock { $0 = 0 }
    logger.with((.worker, 1)).warning(.databaseLost, (.reason, "disk"))
    #expect(
      lines.text == """
        00:00:00.000 warning database.lost  worker=1 reason=disk
        00:00:00.000 warning database.lost  worker=2 reason=disk
        00:01:00.000 warning database.lost  worker=1 reason=disk count=60
        00:02:00.000 warning database.lost  worker=1 reason=disk count=60
        00:00:00.000 warning database.lost  worker=1 reason=disk count=10

        """)
  }

  @Test func `what changes is news each time, and so is another reason`() {
    let lines = Collected()
    let logger = lines.logger(.text)
    for _ in 0..<2 {
      logger.warning(.workerSuspended, (.count, 2))
      logger.info(.workerConfirmed, (.count, 2))
    }
    for reason in ["a", "b", "a"] { logger.error(.workerFenced, (.reason, .string(reason))) }
    #expect(lines.writes == 6)
  }
}
