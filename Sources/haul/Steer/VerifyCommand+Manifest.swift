import Arguments
import FoundationEssentials
import HaulSystem
import JobQueue
import ListFormats
import Stores
import Submitting
import Terminal

extension VerifyCommand {
  /// Compares a directory with the manifest `name`. Does not use a database.
  func compare(withManifest name: String) async throws {
    try checkOptionsOfManifest()
    let display = progress.display(label: "haul verify")
    defer { display.finish() }
    let directory = operands.first ?? "."
    var run: VerifyManifestRun
    do {
      run = try VerifyManifestRun(
        ListSource(argument: name), NamedDirectory(directory, advice: "run haul as another user"),
        findsExtra: findsExtra, progress: VerifyProgress(on: display))
    } catch StoreError.absent(let path, _) {
      throw ExitError(.inputOutput, "the directory \(SafeText.visible(path)) does not exist.")
    }
    do {
      try await run.compare()
    } catch let error as ListError {
      throw ExitError(error.exitCode, "\(SafeText.visible(run.source.name)): \(error).")
    }
    display.clear()
    run.problems.list(on: display)
    let tally = run.tally
    if !tally.faults.isEmpty || output.isJSON {
      try output.print(tally.faults, FaultyFile.columns(.line))
    }
    for note in tally.notes { StandardStream.say("haul verify: \(note)\n") }
    guard tally.faults.isEmpty else { throw ExitError(.failed, tally.failures) }
    guard tally.wrongLines == 0 else {
      let wrong = tally.wrongLines
      throw ExitError(
        .badInput,
        "\(counted(wrong, "line")) of the manifest \(wrong == 1 ? "is" : "are") wrong. \(tally.sentence)."
      )
    }
    guard tally.looked > 0 else {
      throw ExitError(
        .badInput, "\(SafeText.visible(run.source.name)): the manifest names no file.")
    }
    if output.isJSON {
      if !progress.isQuiet { StandardStream.say("haul verify: \(tally.sentence)\n") }
    } else {
      try output.print([], orSay: tally.sentence)
    }
  }

  /// Throws if an option needs a pool, or if there are several directories.
  private func checkOptionsOfManifest() throws(ExitError) {
    let environment = ProcessInfo.processInfo.environment
    let chosen =
      selectors.selector(ids: []) != JobSelector()
      ? "--batch, --queue, --host, --state and --error" : nil
    let given = [
      requeue ? "--requeue" : nil, isDryRun ? "--dry-run" : nil, since == nil ? nil : "--since",
      sample == nil ? nil : "--sample", chosen,
      stores.isEmpty || environment["HAUL_STORES", default: ""] != "" ? nil : "--store",
    ].compactMap(\.self)
    if let option = given.first {
      throw ExitError(
        .usage, "--manifest compares a directory without a pool, so it does not accept \(option).")
    }
    if operands.count > 1 {
      throw ExitError(.usage, "--manifest compares one directory, but \(operands.count) are given.")
    }
  }

  /// Returns the operands as ids of jobs.
  func parsedIds() throws(ExitError) -> [Int64] {
    var ids: [Int64] = []
    for operand in operands {
      guard let id = Int64(argument: operand) else {
        throw ExitError(
          .usage,
          "operand <id> must be a whole number, not '\(SafeText.visible(operand))'. To compare a directory, use --manifest."
        )
      }
      ids.append(id)
    }
    return ids
  }
}
