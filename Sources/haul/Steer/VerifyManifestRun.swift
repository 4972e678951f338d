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
  private var named: Set<String>?

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
    let extra = try await IOPool(threads: 1).run { [root] in Self.files(below: root, besides: named)
    }
    for path in extra.sorted() { tally.addExtra(path) }
  }

  private mutating func compare(_ file: ManifestFile) async {
    named?.insert(file.path.description)
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

  /// Returns the paths of all files below a directory except those in `named`. Leaves out `.haul`, where a store keeps its own
  /// files. Follows no symbolic link.
  private static func files(below root: FileDescriptor, besides named: Set<String>) -> [String] {
    var found: [String] = []
    var directories = ["."]
    while let directory = directories.popLast() {
      for name in root.names(in: directory) where directory != "." || name != ".haul" {
        let path = directory == "." ? name : "\(directory)/\(name)"
        if root.directory(beneath: path) != nil {
          directories.append(path)
        } else if !named.contains(path) {
          found.append(path)
        }
      }
    }
    return found
  }
}
