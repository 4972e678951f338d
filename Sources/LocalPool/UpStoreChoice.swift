/// Which directory `haul up` serves.
///
/// Two directories of one store are two disks to the pool: jobs that were interrupted in one restart in the other, and files
/// land in both. So by default `haul up` serves the same directory as before, wherever it is started.
struct UpStoreChoice {
  /// A directory that was served before.
  struct Instance: Sendable, Equatable {
    /// The instance's id in the database.
    let id: Int
    let marker: String
    let directory: String
    /// Unfinished jobs that have a part file there.
    let interrupted: Int
  }

  /// The directory of a first time, where `haul up` is started.
  static let first = "downloads"

  let instances: [Instance]
  /// What the marker below a directory says; nil where there is none.
  let marker: (_ directory: String) -> String?

  /// The directory to serve where the user names none: the one here if it is of the store, else one that is still there,
  /// before all one with interrupted work, else the latest.
  ///
  /// - Throws: `StandingStoreGone` where all are gone and there is interrupted work in one.
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

  /// The stores with interrupted work, without the one whose marker is `served`.
  func others(besides served: String) -> [Instance] {
    instances.filter { $0.marker != served && $0.interrupted > 0 }
  }
}

/// The directory that `haul up` served is not there, and interrupted work with it. The description is a sentence for the
/// operator, without its full stop.
package struct StandingStoreGone: Error, Equatable, CustomStringConvertible {
  let directory: String
  let interrupted: Int

  package var description: String {
    "\(directory), the directory of the last run, is missing. It had the parts of \(interrupted) interrupted "
      + "\(interrupted == 1 ? "file" : "files"). Restore it, or start again in another directory with --store DIR"
  }
}
