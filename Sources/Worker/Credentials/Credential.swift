import HaulTransfer

/// A proof of the user's identity, such as a password or a token, with the origins that it may be sent to.
///
/// A credential is bound to origins because every submitter chooses both the credential and the host.
struct Credential: Sendable {
  private(set) var fields: [ResponseHead.Field] = []
  private(set) var certificate: ClientCertificate?
  /// The login for FTP and SFTP, instead of ``fields``; nil if FTP and SFTP cannot use this credential.
  private(set) var login: Login?
  private let origins: [OriginPattern]

  /// The keys of a credential's file, one per line as `key: value`.
  private enum Key: String, CaseIterable {
    case type, origins, token, user, password, header, certificate, key
    case tokenFile = "token-file"
    case passwordFile = "password-file"
  }

  private enum Kind: String, CaseIterable {
    case bearer, basic, header
    case clientCertificate = "client-certificate"
    case sshKey = "ssh-key"
  }

  func maySend(to url: WebURL) -> Bool { origins.contains { $0.contains(url) } }

  /// Checks that the URL's protocol can use this credential.
  ///
  /// - Throws: `credential` if it cannot. `name` is the credential's name.
  func requireUse(at url: WebURL, name: String) throws(TransferError) {
    if login?.keyPath != nil, url.scheme != "sftp" {
      throw TransferError(
        .credential, "the credential \(name) is an SSH key, which only sftp URLs can use")
    }
    if url.isFile, login == nil {
      throw TransferError(
        .credential,
        "the credential \(name) has a type that \(url.scheme) cannot use; use the type basic"
      )
    }
  }

  /// Reads a credential from the text of its file. The text may name other files: `path` turns such a name into a path, and
  /// `content` reads the file at that path.
  ///
  /// - Throws: the problem, without any of the content.
  init(
    _ text: String, path: (String) -> String,
    content: (String) throws(SecretFile.Problem) -> String
  ) throws(SecretFile.Problem) {
    let values = try Self.values(in: text)
    func need(_ key: Key) throws(SecretFile.Problem) -> String {
      guard let value = values[key], !value.isEmpty else {
        throw SecretFile.Problem("the file has no key '\(key.rawValue)'")
      }
      return value
    }
    /// Returns the value of `key`, or the content of the file that the value of `file` names, without the line breaks at its end.
    func secret(_ key: Key, _ file: Key) throws(SecretFile.Problem) -> String {
      guard let name = values[file] else { return try need(key) }
      var secret = try content(path(name))[...]
      while let last = secret.last, last.isNewline { secret.removeLast() }
      return String(secret)
    }
    origins = try Self.origins(try need(.origins))
    var used: Set<Key>
    switch Kind(rawValue: try need(.type)) {
    case .bearer?:
      fields = [.init("Authorization", "Bearer \(try secret(.token, .tokenFile))")]
      used = [.token, .tokenFile]
    case .basic?:
      let login = Login(user: try need(.user), password: try secret(.password, .passwordFile))
      fields = [.basic(user: login.user, password: login.password ?? "")]
      self.login = login
      used = [.user, .password, .passwordFile]
    case .header?:
      let halves = try need(.header).split(separator: ":", maxSplits: 1)
      guard halves.count == 2 else {
        throw SecretFile.Problem("'header' must have the form 'header: Name: value'")
      }
      let value = halves[1].drop { $0 == " " }
      fields = [.init(String(halves[0]), String(value))]
      used = [.header]
    case .clientCertificate?:
      certificate = ClientCertificate(
        path: path(try need(.certificate)), keyPath: path(try need(.key)))
      used = [.certificate, .key]
      // Read the key only to check that no user except its owner may read it.
      _ = try content(path(try need(.key)))
    case .sshKey?:
      login = Login(user: try need(.user), keyPath: path(try need(.key)))
      used = [.user, .key]
      // Check the permissions of the key, as above.
      _ = try content(path(try need(.key)))
    case nil:
      let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
      throw SecretFile.Problem("'type' must be one of \(kinds)")
    }
    used.formUnion([.type, .origins])
    if let stray = Key.allCases.first(where: { values[$0] != nil && !used.contains($0) }) {
      throw SecretFile.Problem("a credential of this type cannot have the key '\(stray.rawValue)'")
    }
    guard fields.allSatisfy({ $0.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f } }) else {
      throw SecretFile.Problem("a value in the file contains a control character")
    }
  }

  private static func values(in text: String) throws(SecretFile.Problem) -> [Key: String] {
    var values: [Key: String] = [:]
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() {
      let content = line.drop(while: \.isWhitespace)
      if content.isEmpty || content.hasPrefix("#") { continue }
      let halves = content.split(separator: ":", maxSplits: 1)
      guard halves.count == 2, let key = Key(rawValue: String(halves[0])), values[key] == nil else {
        let keys = Key.allCases.map(\.rawValue).joined(separator: ", ")
        throw SecretFile.Problem(
          "line \(index + 1) must have the form 'key: value' with a key that occurs only once; the keys are \(keys)"
        )
      }
      var value = halves[1].drop(while: \.isWhitespace)
      while value.last?.isWhitespace == true { value.removeLast() }
      values[key] = String(value)
    }
    return values
  }

  private static func origins(_ text: String) throws(SecretFile.Problem) -> [OriginPattern] {
    var origins: [OriginPattern] = []
    for word in text.split(whereSeparator: { $0 == " " || $0 == "," }) {
      guard let origin = OriginPattern(String(word)) else {
        throw SecretFile.Problem(
          "'origins' must look like https://example.org or https://*.example.org:8443")
      }
      origins.append(origin)
    }
    return origins
  }
}
