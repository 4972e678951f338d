import Foundation
import Testing

@testable import HaulTransfer

@Suite struct DigestTests {
  @Test(arguments: [
    (DigestAlgorithm.crc32, "123456789", "cbf43926"), (.crc32, "", "00000000"),
    (.crc32c, "123456789", "e3069283"), (.crc64nvme, "123456789", "ae8b14860a799888"),
    (.crc32, "The quick brown fox jumps over the lazy dog", "414fa339"),
    (.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
    (.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
    (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      .sha512, "abc",
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    ),
  ])
  func `known values`(_ algorithm: DigestAlgorithm, _ text: String, _ hex: String) throws {
    let context = try DigestContext(algorithm)
    for byte in text.utf8 { [byte].withUnsafeBytes { context.update($0) } }
    let digest = ExpectedDigest(algorithm, bytes: context.finish())
    #expect(digest.description == "\(algorithm.rawValue)=\(hex)")
    // Asking does not end it.
    #expect(context.finish() == digest.bytes)

    let scratch = try Scratch()
    let part = try scratch.part("p", text + "and more")
    #expect(try part.digest(algorithm, length: Int64(text.utf8.count)) == digest.bytes)
  }

  @Test func `a file is read back in blocks, and must be long enough`() throws {
    let scratch = try Scratch()
    let text = String(repeating: "0123456789abcdef", count: 100_000)
    let part = try scratch.part("p", text)
    let context = try DigestContext(.sha256)
    Array(text.utf8).withUnsafeBytes { context.update($0) }
    #expect(try part.digest(.sha256, length: 1_600_000) == context.finish())
    #expect(throws: TransferError.self) { try part.digest(.sha256, length: 1_600_001) }
  }

  @Test(arguments: [
    "sha-256=ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "SHA256=BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
    "sha-256=ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=",
    "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:",
  ])
  func `one digest in its spellings`(_ text: String) {
    #expect(
      ExpectedDigest(spelled: text)?.description
        == "sha-256=ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test(arguments: [
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n",
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a file.iso\n",
    "SHA256 (a (1).iso) = ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    " sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "sha-256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=",
  ])
  func `one digest as other tools write it`(_ text: String) throws {
    #expect(
      try ExpectedDigest(text).description
        == "sha-256=ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test(arguments: [
    ("md5=kAFQmDzST7DWlj99KOF/cg==", "md5=900150983cd24fb0d6963f7d28e17f72"),
    ("MD-5=900150983cd24fb0d6963f7d28e17f72", "md5=900150983cd24fb0d6963f7d28e17f72"),
    (
      "sha1=a9993e364706816aba3e25717850c26c9cd0d89d",
      "sha-1=a9993e364706816aba3e25717850c26c9cd0d89d"
    ),
    ("md5=900150983cd24fb0d6963f7d28e17f7", nil), ("md5=", nil), ("md5", nil), ("", nil),
    ("md5=900150983cd24fb0d6963f7d28e17f7g", nil), ("md5= 900150983cd24fb0d6963f7d28e17f7", nil),
    ("crc32=cbf43926", "crc32=cbf43926"), ("crc32=y/Q5Jg==", "crc32=cbf43926"),
    (
      "sha=a9993e364706816aba3e25717850c26c9cd0d89d",
      "sha-1=a9993e364706816aba3e25717850c26c9cd0d89d"
    ),
    ("crc32c=:4waSgw==:", "crc32c=e3069283"), ("crc32=y/Q5Jg==-2", nil), ("crc16=0000", nil),
    ("sha-256=900150983cd24fb0d6963f7d28e17f72", nil),
    ("sha-256=::", nil), ("sha-256=ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=", nil),
    ("md5=९00150983cd24fb0d6963f7d28e17f7", nil),
  ])
  func `other algorithms, and what is no digest`(_ text: String, _ normal: String?) {
    #expect(ExpectedDigest(spelled: text)?.description == normal)
  }

  @Test(arguments: [
    ("900150983cd24fb0d6963f7d28e17f72", "md5"),
    ("A9993E364706816ABA3E25717850C26C9CD0D89D", "sha-1"),
    ("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "sha-256"),
    ("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a b.iso", "sha-256"),
    ("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad *a.iso", "sha-256"),
    (
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f", "sha-512"
    ),
    ("md5=kAFQmDzST7DWlj99KOF/cg==", "md5"),
  ])
  func `a program may leave the algorithm out`(_ text: String, _ algorithm: String) throws {
    #expect(try ExpectedDigest(text).algorithm.rawValue == algorithm)
  }

  @Test(arguments: [
    "", "sha-256=", "md4=900150983cd24fb0d6963f7d28e17f72", "900150983cd24fb0d6963f7d28e17f7",
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a",
    "sha-256=ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a",
    "cbf43926", "900150983cd24fb0d6963f7d28e17f72 a.iso", "md4:900150983cd24fb0d6963f7d28e17f72",
    "MD5 (a) = 900150983cd24fb0d6963f7d28e17f7", "sha256:sha256:ba7816bf",
    String(repeating: "x", count: 100_000), "\u{1b}[2J",
  ])
  func `a text that is no digest is an error, never no check`(_ text: String) {
    let error = #expect(throws: TransferError.self) { try ExpectedDigest(text) }
    #expect(error?.errorClass == .digest)
    #expect(error.map { $0.message.utf8.count < 400 && !$0.message.contains("\u{1b}") } == true)
  }
}
