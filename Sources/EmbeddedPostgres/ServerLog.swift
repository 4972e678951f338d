import Glibc

/// What the server, or `initdb`, wrote before it ended, as an error.
enum ServerLog {
  /// The last complaint, without the time and process before it; else the last line.
  static func lastWords(_ text: String) -> String {
    let lines = text.split(whereSeparator: \.isNewline).map(String.init)
    let complaints = lines.compactMap(complaint)
    return complaints.last ?? lines.last ?? "it said nothing"
  }

  /// Whether it had no space, by what it wrote; or, where it could write nothing, by what is left on
  /// the file system of `directory`.
  static func isDiskFull(_ text: String, in directory: String) -> Bool {
    if ["No space left on device", "Disk quota exceeded"].contains(where: text.contains) {
      return true
    }
    var found = statvfs()
    return unsafe statvfs(directory, &found) == 0 && found.f_bavail == 0
  }

  /// Whether it is replaying what a crash left.
  static func isRecovering(_ text: String) -> Bool {
    text.contains("automatic recovery in progress")
  }

  private static func complaint(in line: String) -> String? {
    for level in ["FATAL:  ", "PANIC:  ", "ERROR:  ", "error: "] {
      if let found = line.firstRange(of: level) { return String(line[found.upperBound...]) }
    }
    return nil
  }
}
