import HaulTransfer

extension TransferError {
  /// The error message, with the option of Haul that may help.
  var sentence: String {
    switch remedy {
    case nil: message
    case .allow(let blocks):
      "\(message); if you trust it, start 'haul worker', 'haul up' or 'haul get' with "
        + blocks.map { "--allow-net \($0)" }.joined(separator: " ")
    case .ifExists: "\(message); use --if-exists skip, replace or rename"
    case .loginOption: "\(message); --netrc and --credential take them"
    case .digest: "\(message); --checksum with the right one overrules it"
    case .acceptUnverifiedLength: "\(message); --accept-unverified-length takes the first"
    case .allowScheme(let scheme):
      "\(message); start 'haul worker', 'haul up' or 'haul get' with --allow-scheme \(scheme)"
    case .knownHost:
      "\(message); once you are sure of it, add what ssh-keyscan prints of the host to the file of --known-hosts"
    case .login(let machine):
      "\(message); 'haul submit' and 'haul get' take a --credential, or start 'haul worker', 'haul up' or 'haul get' with a --netrc that has 'machine \(machine)'"
    case .proxyPassword: "\(message); the file of --netrc has them under 'machine HOST:PORT'"
    }
  }
}
