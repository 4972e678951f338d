import Dispatch
import FoundationEssentials
@preconcurrency import Glibc
import HaulTransfer

// Downloads a file with a delegate, like code for URLSession:
//
//     Session URL FILE
//
// After Ctrl-C or a failure, FILE.resume contains resume data. The same command then continues the download. To allow private
// addresses, set `ALLOW` to a block of them, such as `ALLOW=192.168.0.0/16`.

/// Prints each call, and moves the file to its place.
final class Printer: DownloadSessionDelegate {
  let destination: URL
  let resumeFile: URL
  /// Receives one value when the task has ended: whether the file is complete.
  let (endings, ending) = AsyncStream.makeStream(of: Bool.self)

  init(destination: URL, resumeFile: URL) {
    self.destination = destination
    self.resumeFile = resumeFile
  }

  func task(_ task: DownloadTask, didResumeAtOffset offset: Int64, expectedTotalBytes: Int64) {
    print("resumed at \(offset) of \(expectedTotalBytes)")
  }

  func task(_ task: DownloadTask, didWriteData bytes: Int64, total: Int64, expected: Int64) {
    print("wrote \(bytes): \(total) of \(expected)")
  }

  func task(_ task: DownloadTask, didFinishDownloadingTo location: URL) {
    do {
      try FileManager.default.moveItem(at: location, to: destination)
    } catch {
      print("cannot move the file to \(destination.path): \(error)")
    }
  }

  func task(_ task: DownloadTask, didCompleteWithError error: (any Error)?) {
    do {
      if let data = task.resumeData {
        try data.write(to: resumeFile, options: .atomic)
      } else if FileManager.default.fileExists(atPath: resumeFile.path) {
        try FileManager.default.removeItem(at: resumeFile)
      }
    } catch {
      print("cannot keep the resume data in \(resumeFile.path): \(error)")
    }
    print(error.map { "failed: \($0)" } ?? "complete")
    ending.yield(error == nil)
  }
}

/// Calls `body` when the user presses Ctrl-C, instead of ending the program. Keep the result: releasing it ends the calls.
func onInterrupt(_ body: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
  signal(SIGINT, SIG_IGN)
  let source = DispatchSource.makeSignalSource(signal: SIGINT)
  source.setEventHandler(handler: body)
  source.activate()
  return source
}

// Flushes each line immediately, even in a pipe.
setlinebuf(stdout)
guard CommandLine.arguments.count == 3, let url = URL(string: CommandLine.arguments[1]) else {
  print("usage: Session URL FILE")
  exit(64)
}
let destination = URL(filePath: CommandLine.arguments[2])
let resumeFile = destination.appendingPathExtension("resume")

var configuration = Downloader.Configuration()
if let block = ProcessInfo.processInfo.environment["ALLOW"].flatMap(CIDR.init) {
  configuration.addressPolicy = AddressPolicy(allowing: [block])
}
let printer = Printer(destination: destination, resumeFile: resumeFile)
let session = try DownloadSession(
  configuration, directory: destination.deletingLastPathComponent(), delegate: printer)

let resumed = (try? Data(contentsOf: resumeFile)).flatMap { data in
  try? session.downloadTask(withResumeData: data)
}
let task = resumed ?? session.downloadTask(with: url)
let interruption = onInterrupt { [task] in
  task.cancel { data in print("stopped with \(data?.count ?? 0) bytes of resume data") }
}
task.resume()

var isComplete = false
for await ended in printer.endings {
  isComplete = ended
  break
}
await session.invalidateAndCancel()
interruption.cancel()
exit(isComplete ? 0 : 1)
