@testable import HaulTransfer

/// Sun, 06 Nov 1994 08:49:37 GMT
private let now = HTTPDate(seconds: 784_111_777)

@Sendable func fuzzContentRange(_ bytes: [UInt8]) {
  let head = ResponseHead(status: 206, fields: [.init("Content-Range", text(bytes))])
  switch try? ContentRange(head) {
  case .part(let first, let last, let length):
    precondition(first >= 0 && first <= last && last < length ?? .max)
  case .unsatisfied(let length):
    precondition(length >= 0)
  case nil:
    break
  }
}

@Sendable func fuzzValidator(_ bytes: [UInt8]) {
  guard let validator = Validator(text: text(bytes)) else { return }
  precondition(Validator(text: validator.text) == validator)
  guard case .strongETag(let tag) = validator else { return }
  let head = ResponseHead(status: 200, fields: [.init("ETag", tag)])
  precondition(validator.compared(with: head) == .same)
  precondition(Validator(head, now: now) == validator)
}

@Sendable func fuzzDate(_ bytes: [UInt8]) {
  guard let date = HTTPDate(text(bytes), now: now) else { return }
  // From the year 0 to 9999.
  precondition((-62_167_219_200...253_402_300_800).contains(date.seconds))
}

/// The first line is a digest as users write it, the others are fields.
@Sendable func fuzzDigest(_ bytes: [UInt8]) {
  let lines = text(bytes).split(separator: "\n", omittingEmptySubsequences: false)
  if let digest = lines.first.flatMap({ ExpectedDigest(spelled: String($0)) }) {
    precondition(ExpectedDigest(spelled: digest.description) == digest)
  }
  for status in [200, 206] {
    let fields = lines.dropFirst().compactMap { line -> ResponseHead.Field? in
      let halves = line.split(separator: ":", maxSplits: 1)
      return halves.count == 2 ? .init(String(halves[0]), String(halves[1])) : nil
    }
    let head = ResponseHead(status: status, fields: fields)
    if let stated = head.statedDigest { precondition(!head.contradicts(stated)) }
  }
}
