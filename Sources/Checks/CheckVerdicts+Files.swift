package import JobQueue
import Terminal

extension CheckVerdicts {
  /// Reports how many finished files have no digest, and whether there is a store whose files were never verified. Returns one
  /// finding, which is never a warning. Returns no finding if no job has completed.
  package static func files(_ counts: DigestCounts, _ stores: [StoreRow]) -> [CheckFinding] {
    if counts.completed == 0 { return [] }
    let files = counted(counts.completed, "finished file")
    let known =
      counts.withoutDigest == 0
      ? "all with a digest" : "\(counts.withoutDigest) of them without a digest"
    let digests =
      "\(files)\(counts.ended < DigestCounts.limit ? "" : " among the newest jobs"), \(known)"
    let never = Set(stores.filter { $0.verifiedAt == nil }.map(\.store)).sorted()
    if let first = never.first {
      let whose = never.count == 1 ? "the store \(first)" : "\(counted(never.count, "store"))"
      return [
        .ok(
          "files",
          "\(digests). The files of \(whose) were never verified. Run 'haul verify' on a machine that mounts \(never.count == 1 ? "this store" : "these stores")"
        )
      ]
    }
    if counts.withoutDigest > 0 {
      return [
        .ok(
          "files",
          "\(digests). To check the files, run 'haul verify'. It compares only the length of files without a digest"
        )
      ]
    }
    let last = stores.compactMap(\.verifiedAt).min().map {
      "; every store was last verified at or after \(HumanFormat.time($0))"
    }
    return [.ok("files", digests + (last ?? ""))]
  }
}
