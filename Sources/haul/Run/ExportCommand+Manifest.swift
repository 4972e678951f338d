import Arguments
import HaulSystem
import JobModel
import JobQueue
import ListFormats
import Terminal

extension ManifestFormat: OptionValue {}

extension ExportCommand {
  /// Throws if the options do not fit together.
  func checkOptions() throws(ExitError) {
    guard manifest != nil else {
      let lone = store != nil ? "--store" : showsSecrets ? "--complete-urls" : nil
      if let lone { throw ExitError(.usage, "\(lone) needs --manifest.") }
      return
    }
    if format != nil {
      throw ExitError(
        .usage, "use either --format, for a list to submit again, or --manifest, not both.")
    }
    if left {
      throw ExitError(.usage, "a manifest lists completed jobs, which --left skips. Remove --left.")
    }
    if selectors.error != nil || ![nil, .completed].contains(selectors.state) {
      throw ExitError(
        .usage, "a manifest lists only completed jobs. Remove --error and --state.")
    }
  }

  /// Writes the manifest of the selected jobs, and notes about files that it does not name.
  func writeManifest(_ format: ManifestFormat) async throws {
    let writer = ManifestWriter(format)
    var stores: Set<String> = []
    var withoutDigest = 0
    try await database.withQueue { queue in
      if let store { try Self.requireStore(store, among: try await queue.stores()) }
      var selector = selectors.selector(ids: ids)
      selector.state = nil
      var last: Int64 = 0
      // The heading comes with the first page, so that a wrong selector prints nothing.
      var lines = writer.heading
      while true {
        let rows = try await queue.manifest(
          selector, store: store, showsSecrets: showsSecrets, after: last, limit: Self.page)
        for row in rows {
          guard let line = writer.line(of: ManifestEntry(row)) else {
            withoutDigest += 1
            continue
          }
          stores.insert(row.store)
          lines += line
        }
        try StandardStream.output.write(lines)
        lines = ""
        guard let end = rows.last?.job, rows.count == Self.page else { return }
        last = end
      }
    }
    if withoutDigest > 0 {
      StandardStream.say("haul export: \(Self.note(leftOut: withoutDigest))\n")
    }
    if format == .sha256sums, stores.count > 1 {
      StandardStream.say(
        "haul export: the files are in \(stores.count) stores, whose paths may be equal. Use --store NAME to write one manifest for each: \(stores.sorted().joined(separator: ", "))\n"
      )
    }
  }

  /// Returns the sentence about files that a file of checksums cannot name.
  static func note(leftOut count: Int) -> String {
    "left out \(counted(count, "file")) without a recorded SHA-256. Use --manifest jsonl or csv to list every file"
  }

  private static func requireStore(_ name: String, among rows: [StoreRow]) throws(ExitError) {
    let names = Set(rows.map(\.store)).sorted()
    if names.contains(name) { return }
    throw ExitError(
      .badInput,
      "there is no store \"\(name)\"."
        + (names.isEmpty ? "" : " Stores: \(names.joined(separator: ", "))."))
  }
}

extension ManifestEntry {
  /// Creates the entry for a finished file.
  init(_ row: ManifestRow) {
    self.init(
      job: row.job, store: row.store, path: row.path, url: row.url, length: row.bytes,
      digest: row.digest, validator: row.validator, finishedAt: row.finishedAt)
  }
}
