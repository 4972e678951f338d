import HaulTransfer
import JobQueue
import Postgres

extension Haul {
  /// The lines of `--version` after the version: the commit if it is known, libraries, compiler and schema.
  static var versionLines: [String] {
    let libraries = TransferLibraries.linked
    return (revision.isEmpty ? [] : ["commit \(revision)"]) + [
      libraries.curlText, "libpq \(PostgresLibrary.version)", "OpenSSL \(libraries.openSSL)",
      "Swift \(swift)", "schema \(JobQueue.schemaVersion)",
    ]
  }

  /// The compiler that built this program. Swift code can only compare the compiler's version, so the text may be "6.4 or
  /// newer".
  private static var swift: String {
    #if compiler(>=6.4)
      "6.4 or newer"
    #elseif compiler(>=6.3)
      "6.3"
    #else
      "6.2"
    #endif
  }
}
