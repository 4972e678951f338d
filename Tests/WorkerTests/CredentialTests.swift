import Foundation
import Glibc
import HaulTransfer
import TestSupport
import Testing

@testable import Worker

/// Files of credentials: what they may say, and what is said of those that are wrong.
struct CredentialTests {
  /// A directory with the file `c` of that text, and `secret` beside it.
  private func directory(_ text: String, mode: mode_t = 0o600) throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    chmod(try directory.write(text, to: "c"), mode)
    chmod(try directory.write("hunter2\n", to: "secret"), 0o600)
    chmod(try directory.write("hunter2\n", to: "open"), 0o644)
    return directory
  }

  private func credential(_ text: String, mode: mode_t = 0o600) throws -> Credential {
    let directory = try directory(text, mode: mode)
    return try CredentialDirectory.credential("c", in: CredentialDirectory(directory.path))
  }

  @Test(
    arguments: [
      ("type: bearer\norigins: https://h\ntoken: hunter2\n", "Authorization: Bearer hunter2"),
      (
        "# mine\n\n type:bearer\norigins: https://h\ntoken-file: secret",
        "Authorization: Bearer hunter2"
      ),
      (
        "type: basic\norigins: https://h\nuser: me\npassword: a:b c\n",
        "Authorization: Basic bWU6YTpiIGM="
      ),
      (
        "type: basic\norigins: https://h\nuser: me\npassword-file: secret\n",
        "Authorization: Basic bWU6aHVudGVyMg=="
      ),
      ("type: header\norigins: https://h\nheader: X-Api-Key: a:b\n", "X-Api-Key: a:b"),
    ])
  func `a credential is a field that is sent`(text: String, field: String) throws {
    let credential = try credential(text)
    #expect(credential.fields.map { "\($0.name): \($0.value)" } == [field])
    #expect(credential.certificate == nil)
    #expect(credential.maySend(to: try WebURL("https://h/a")))
    #expect(!credential.maySend(to: try WebURL("http://h/a")))
    #expect(!credential.maySend(to: try WebURL("https://other/a")))
  }

  @Test func `or a certificate with its key`() throws {
    let directory = try directory(
      "type: client-certificate\norigins: https://h, https://*.h:1\ncertificate: /c.pem\nkey: secret"
    )
    let credential = try CredentialDirectory.credential(
      "c", in: CredentialDirectory(directory.path))
    #expect(
      credential.certificate
        == ClientCertificate(path: "/c.pem", keyPath: directory.path("secret")))
    #expect(credential.fields.isEmpty)
    #expect(credential.maySend(to: try WebURL("https://a.h:1/")))
  }

  @Test(arguments: [
    ("origins: https://h\ntoken: hunter2", "the file has no key 'type'"),
    ("type: bearer\ntoken: hunter2", "the file has no key 'origins'"),
    ("type: bearer\norigins: \ntoken: hunter2", "the file has no key 'origins'"),
    ("type: bearer\norigins: https://h", "the file has no key 'token'"),
    (
      "type: hunter2\norigins: https://h",
      "'type' must be one of bearer, basic, header, client-certificate"
    ),
    ("type: bearer\norigins: hunter2\ntoken: x", "'origins' must look like"),
    (
      "type: bearer\norigins: https://h\ntoken: hunter2\nuser: x",
      "a credential of this type cannot have the key 'user'"
    ),
    ("type: bearer\norigins: https://h\nhunter2", "line 3 must have the form 'key: value'"),
    (
      "type: bearer\norigins: https://h\ntoken: hunter2\ntoken: hunter3",
      "line 4 must have the form 'key: value'"
    ),
    ("type: bearer\norigins: https://h\ntoken-file: open", "other users may read it"),
    ("type: bearer\norigins: https://h\ntoken-file: none", "cannot read"),
    ("type: header\norigins: https://h\nheader: hunter2", "'header' must have the form"),
    ("type: bearer\norigins: https://h\ntoken: hun\u{1}ter2", "control character"),
  ])
  func `what is wrong is said without what is in it`(text: String, reason: String) throws {
    let error = #expect(throws: TransferError.self) { try credential(text) }
    #expect(error?.errorClass == .credential)
    #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    #expect(error?.message.contains("hunter2") == false)
  }

  @Test func `others may not read it, and its name is no path`() throws {
    let text = "type: bearer\norigins: https://h\ntoken: hunter2\n"
    let error = #expect(throws: TransferError.self) { try credential(text, mode: 0o644) }
    #expect(error?.message.contains("chmod 600") == true)
    let place = try directory(text)
    let directory = try CredentialDirectory(place.path)
    for name in ["../c", "", ".", "c/../c", "none", "a b"] {
      let error = #expect(throws: TransferError.self) {
        try CredentialDirectory.credential(name, in: directory)
      }
      #expect(error?.errorClass == .credential)
    }
    #expect(throws: TransferError.self) { try CredentialDirectory.credential("c", in: nil) }
    #expect(try CredentialDirectory.credential("c", in: directory).fields.count == 1)
    withExtendedLifetime(place) {}
    for path in ["/nonexistent", "\(place.path)/c"] {
      #expect(throws: SecretFile.Problem.self) { try CredentialDirectory(path) }
    }
  }
}
