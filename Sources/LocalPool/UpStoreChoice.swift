/// The choice of the directory that `haul up` serves.
///
/// The pool treats two directories of a store as two disks. If `haul up` changed the directory, interrupted jobs would start
/// again from byte 0, and the files would be in both directories. So by default, `haul up` serves the directory of the last run,
/// wherever it is started.
struct UpStoreChoice {
  /// A directory that an earlier run served.
  struct Instance: Sendable, Equatable {
    /// The instance's id in the database.
    let id: Int
    let marker: String
    let directory: String
    /// The number of unfinished jobs with a part file in this directory.
    let interrupted: Int
  }

  /// The directory of a first run, below the directory in which `haul up` is started.
  static let first = "downloads"

  let instances: [Instance]
  /// Returns the marker id of a directory; nil if the directory has no marker file.
  let marker: (_ directory: String) -> String?

  /// Returns the directory to serve if the user names none: the directory below the current one if it belongs to the store;
  /// otherwise a directory that still exists. Prefers directories with interrupted jobs, then the latest directory.
  ///
  /// - Throws: `StandingStoreGone` if all directories are missing and at least one of them had interrupted jobs.
  func directory() throws(StandingStoreGone) -> String {
    let here = marker(Self.first)
    if instances.contains(where: { $0.marker == here }) { return Self.first }
    let there = instances.filter { marker($0.directory) == $0.marker }
    let best = there.max {
      ($0.interrupted > 0 ? 1 : 0, $0.id) < ($1.interrupted > 0 ? 1 : 0, $1.id)
    }
    if let best { return best.directory }
    if let gone = instances.last(where: { $0.interrupted > 0 }) {
      throw StandingStoreGone(directory: gone.directory, interrupted: gone.interrupted)
    }
    return Self.first
  }

  /// Returns the directories with interrupted jobs, without the one whose marker is `served`.
  func others(besides served: String) -> [Instance] {
    instances.filter { $0.marker != served && $0.interrupted > 0 }
  }
}

/// The error if the directory of an earlier `haul up` is missing, and it held part files of interrupted jobs. The
/// description is a sentence for the operator, without its full stop.
package struct StandingStoreGone: Error, Equatable, CustomStringConvertible {
  let directory: String
  let interrupted: Int

  package var description: String {
    "\(directory), the directory of the last run, is missing. It contained \(interrupted) interrupted "
      + "\(interrupted == 1 ? "file" : "files"). Restore the directory, or start again in another directory with --store DIR"
  }
}
