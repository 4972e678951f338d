import FoundationEssentials
@preconcurrency import Glibc
import HaulTransfer

// Downloads one file and prints its events. Memory use does not depend on the size of the file:
//
//     Stream [--type TYPE] [--post BODY] URL FILE
//
// With --type, the download fails if the content type is not TYPE. With --post, the request is a POST with this body. To allow
// private addresses, set `ALLOW` to a block of them, such as `ALLOW=192.168.0.0/16`.

/// The server sent content of a type that the user does not want.
struct WrongType: Error, CustomStringConvertible {
  let wanted: String
  let received: String?

  var description: String { "the type is \(received ?? "unknown"), not \(wanted)" }
}

// Flushes each line immediately, even in a pipe.
setlinebuf(stdout)

var options = DownloadOptions()
var policy = RetryPolicy()
// The library retries after time-outs, broken connections and 5xx responses. Each wait may be longer than the last.
policy.maxAttempts = 3
options.retry = policy

var arguments = Array(CommandLine.arguments.dropFirst())
while arguments.count > 2 {
  let (option, value) = (arguments.removeFirst(), arguments.removeFirst())
  switch option {
  case "--type":
    // Haul calls this with each response, before it writes the body.
    options.validate = { response in
      let received = response.value("Content-Type")
      guard received?.prefix(while: { $0 != ";" }) == value[...] else {
        throw WrongType(wanted: value, received: received)
      }
    }
  case "--post": options.method = .post(Array(value.utf8))
  default: arguments = []
  }
}
guard arguments.count == 2 else {
  print("usage: Stream [--type TYPE] [--post BODY] URL FILE")
  exit(64)
}

var configuration = Downloader.Configuration()
if let block = ProcessInfo.processInfo.environment["ALLOW"].flatMap(CIDR.init) {
  configuration.addressPolicy = AddressPolicy(allowing: [block])
}
let downloader = try Downloader(configuration)
let download = downloader.start(arguments[0], to: arguments[1], options: options)

// Progress has its own sequence, with about four values a second. The events contain it, too.
let progress = Task {
  for await progress in download.progress {
    let total = progress.expected.map { " of \($0)" } ?? ""
    print("\(progress.bytes)\(total) bytes, \(Int(progress.rate)) a second")
  }
}

for await event in download.events {
  switch event {
  case .state(.finished), .finished: break
  case .state(let state): print("\(state)")
  case .redirected(let from, let to): print("redirected from \(from) to \(to)")
  case .response(let response):
    print("response \(response.status) from \(response.url)")
    for field in response.fields { print("  \(field.name): \(field.value)") }
  case .progress: break
  case .saved(let data): print("\(data.bytes) bytes are durable")
  case .retrying(let delay, let error):
    print("retrying within \(delay.components.seconds + 1) s: \(error)")
  }
}
await progress.value

var code: Int32 = 0
do {
  // This throws the error of `validate`, here a WrongType, or a TransferError.
  let file = try await download.value
  print("complete: \(file.path), \(file.bytes) bytes")
} catch {
  print("failed: \(error)")
  // After a failure, the partial file stays for a resume. This program does not resume, so it removes the file.
  download.cancel()
  code = 1
}
await downloader.shutdown()
exit(code)
