import HaulSystem
import HaulTransfer
import ListFormats
import Stores
import Submitting

/// Compares the files of a directory with a manifest, line by line. Reads and changes nothing outside the directory.
struct VerifyManifestRun {
  let source: ListSource
  private let root: FileDescriptor
  private let verifier: FileVerifier
  private let progress: VerifyProgress
  /// The lines that name no file.
  let problems = LineProblems()
  private(set) var tally = VerifyTally()
  /// The paths in the manifest; nil without a search for other files.
  private var named: Set<[UInt8]>?

  /// Opens the directory. With `findsExtra`, ``compare()`` also looks for files that the manifest does not name. It then keeps
  /// all paths of the manifest in memory.
  init(
    _ source: ListSource, _ directory: NamedDirectory, findsExtra: Bool, progress: VerifyProgress
  ) throws {
    self.source = source
    self.progress = progress
    root = try directory.open()
    verifier = try FileVerifier(Destination(root: root))
    named = findsExtra ? [] : nil
  }

  /// Compares all files.
  mutating func compare() async throws {
    var reader = ManifestReader(source)
    while let item = try await reader.next() {
      switch item {
      case .file(let file): await compare(file)
      case .problem(let line, let reason):
        problems.add(.init(line, at: "\(SafeText.visible(source.name)):\(line): ", "\(reason)."))
      }
    }
    tally.wrongLines = problems.count
    guard let named else { return }
    let others = try await IOPool(threads: 1).run { [root] in
      Self.others(below: root, besides: named)
    }
    for path in others.files.sorted() { tally.addExtra(path) }
    for (path, reason) in others.closed.sorted(by: { $0.0 < $1.0 }) {
      tally.addClosed(path, reason)
    }
  }

  private mutating func compare(_ file: ManifestFile) async {
    named?.insert(Array(file.path.description.utf8))
    var verdict = await verifier.look(at: file.path, length: file.length, digest: file.digest) {
      [progress] bytes in
      progress.show { $0.read(bytes, at: .now) }
    }
    if verdict == .missing, let obstacle = await verifier.obstacle(at: file.path) {
      verdict = .unreadable(obstacle)
    }
    tally.add(
      Int64(file.line), file.path.description, bytes: file.length,
      digest: file.digest?.description, verdict)
    progress.show { [faults = tally.faults.count] pace in
      pace.end(bytes: file.digest == nil ? 0 : file.length ?? 0, faults: faults, at: .now)
    }
  }

  /// Returns the paths of all files below a directory except those in `named`, and the directories that cannot be listed, with
  /// the reasons. Leaves out `.haul`, where a store keeps its own files. Follows no symbolic link.
  private static func others(
    below root: FileDescriptor, besides named: Set<[UInt8]>
  ) -> (files: [String], closed: [(String, String)]) {
    var files: [String] = []
    var closed: [(String, String)] = []
    var paths = ["."]
    while let path = paths.popLast() {
      do throws(TransferError) {
        if let names = try root.listing(of: path) {
          paths += path == "." ? names.filter { $0 != ".haul" } : names.map { "\(path)/\($0)" }
        } else if !named.contains(Array(path.utf8)) {
          files.append(path)
        }
      } catch {
        closed.append((path, error.message))
      }
    }
    return (files, closed)
  }
}
