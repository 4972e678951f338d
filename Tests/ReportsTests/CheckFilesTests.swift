import Testing

@testable import Checks
@testable import JobQueue

/// What `haul check` says of finished files.
struct CheckFilesTests {
  private func store(_ name: String, verified: String? = nil) -> StoreRow {
    StoreRow(
      store: name, instance: 1, machine: "m", root: "/srv/\(name)", workers: 0, marker: "",
      createdAt: "", verifiedAt: verified)
  }

  private func counts(_ completed: Int, _ withoutDigest: Int) -> DigestCounts {
    DigestCounts(ended: completed + 5, completed: completed, withoutDigest: withoutDigest)
  }

  private let day = "2026-11-28T03:00:00.5+00:00"

  @Test func `nothing is said before a job has completed`() {
    #expect(
      CheckVerdicts.files(
        DigestCounts(ended: 7, completed: 0, withoutDigest: 0), [store("films")]) == [])
  }

  @Test func `the recommendation is one line and no warning`() {
    let (new, verified) = (store("films"), store("music", verified: day))
    let cases: [(DigestCounts, [StoreRow], String)] = [
      (
        counts(12, 0), [new, verified],
        "12 finished files, all with a digest. The files of the store films were never verified. Run 'haul verify' on a machine that mounts this store"
      ),
      (
        counts(12, 3), [new, store("books")],
        "12 finished files, 3 of them without a digest. The files of 2 stores were never verified. Run 'haul verify' on a machine that mounts these stores"
      ),
      (
        DigestCounts(ended: 1_000_000, completed: 999_000, withoutDigest: 3), [verified],
        "999000 finished files among the newest jobs, 3 of them without a digest. To check the files, run 'haul verify'. It compares only the length of files without a digest"
      ),
      (
        counts(12, 0), [verified],
        "12 finished files, all with a digest; every store was last verified at or after 2026-11-28 03:00:00"
      ),
      (counts(12, 0), [], "12 finished files, all with a digest"),
    ]
    for (counts, stores, sentence) in cases {
      #expect(CheckVerdicts.files(counts, stores) == [.ok("files", sentence)])
    }
  }
}
