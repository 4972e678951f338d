import HaulTransfer
import JobQueue
import Postgres

extension Haul {
  /// What `--version` says besides the version: the commit where it is known, libraries, compiler, schema.
  static var versionLines: [String] {
    let libraries = TransferLibraries.linked
    return (revision.isEmpty ? [] : ["commit \(revision)"]) + [
      libraries.curlText, "libpq \(PostgresLibrary.version)", "OpenSSL \(libraries.openSSL)",
      "Swift \(swift)", "schema \(JobQueue.schemaVersion)",
    ]
  }

  /// The compiler that built this; Swift tells no more of it than how it compares.
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
