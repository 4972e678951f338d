import Glibc

/// The entry that libFuzzer calls with each input; its `main` comes with `--sanitize=fuzzer`.
///
/// `HAUL_FUZZ_TARGET` names the target. What is wrong traps, and libFuzzer keeps the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  target(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
  return 0
}

private let target: @Sendable ([UInt8]) -> Void = {
  let name = unsafe getenv("HAUL_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
  guard let target = targets[name] else {
    fatalError("HAUL_FUZZ_TARGET is one of: \(targets.keys.sorted().joined(separator: ", "))")
  }
  return target
}()

/// What reads bytes that others have written, by its name; each has seeds in `Corpus`.
private let targets: [String: @Sendable ([UInt8]) -> Void] = [
  "answer": fuzzAnswer,
  "checkpoint": fuzzCheckpoint,
  "content-range": fuzzContentRange,
  "date": fuzzDate,
  "digest": fuzzDigest,
  "list": fuzzList,
  "url": fuzzURL,
  "validator": fuzzValidator,
]

/// As header lines come: UTF-8 where it is, else ISO 8859-1.
func text(_ bytes: some Collection<UInt8>) -> String {
  String(validating: bytes, as: UTF8.self)
    ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
}
