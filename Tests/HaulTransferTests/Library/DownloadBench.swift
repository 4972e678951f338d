import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Downloads to `a` in a directory of its own, through the library's public face.
struct DownloadBench {
  /// What a download came to.
  enum Result: Equatable, CustomTestStringConvertible {
    case file([UInt8])
    case failure(TransferError.Class)

    var testDescription: String {
      switch self {
      case .file(let bytes): "\(bytes.count) bytes, \(bytes.prefix(20))…"
      case .failure(let failure): failure.rawValue
      }
    }

    static func text(_ text: String) -> Result { .file(Array(text.utf8)) }
  }

  let directory: TemporaryDirectory
  let downloader: Downloader

  init(_ configuration: Downloader.Configuration = .test) throws {
    directory = try TemporaryDirectory()
    downloader = try Downloader(configuration)
  }

  var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
  }

  /// Runs one download to its end. A failure must leave nothing behind, and a file nothing beside it.
  func download(_ url: String, options: DownloadOptions = DownloadOptions()) async throws -> Result
  {
    try await settled(downloader.start(url, to: directory.path("a"), options: options))
  }

  /// As ``download(_:options:)``, with the error itself; nil for a file.
  func failure(_ url: String) async throws -> TransferError? {
    do {
      _ = try await downloader.download(url, to: directory.path("a"))
      return nil
    } catch let error as TransferError {
      #expect(try files.isEmpty)
      return error
    }
  }

  /// Removes what was downloaded.
  func remove() throws { try FileManager.default.removeItem(atPath: directory.path("a")) }

  /// Waits for a download. What is left of one that failed is what it can be gone on from.
  func settled(_ download: Download) async throws -> Result {
    do {
      let path = try await download.value.path
      #expect(path == directory.path("a"))
      #expect(try files == ["a"])
      return .file(FileManager.default.contents(atPath: path).map { Array($0) } ?? [])
    } catch let error as TransferError {
      #expect(!error.message.isEmpty && !error.message.contains("\n"))
      let kept = try files
      #expect(kept.count == (download.resumeData == nil ? 0 : 1))
      #expect(kept.allSatisfy { $0.hasPrefix(".a.haul-part-") })
      return .failure(error.errorClass)
    }
  }
}

extension Source {
  /// All of it, as a download brings it.
  var result: DownloadBench.Result { .file(bytes(in: 0..<length)) }
}
