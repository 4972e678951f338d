import Glibc

/// Finds the error in the output of the server or of `initdb`.
enum ServerLog {
  /// Returns the last error message, without its time and process id; if there is none, the last line.
  static func lastWords(_ text: String) -> String {
    let lines = text.split(whereSeparator: \.isNewline).map(String.init)
    let complaints = lines.compactMap(complaint)
    return complaints.last ?? lines.last ?? "PostgreSQL wrote no error message"
  }

  /// Returns whether the disk is full, because the text says so or because no space is left on the file system of `directory`.
  /// A full disk may prevent the server from writing any text.
  static func isDiskFull(_ text: String, in directory: String) -> Bool {
    if ["No space left on device", "Disk quota exceeded"].contains(where: text.contains) {
      return true
    }
    var found = statvfs()
    return unsafe statvfs(directory, &found) == 0 && found.f_bavail == 0
  }

  /// Returns whether the server is recovering from a crash.
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
