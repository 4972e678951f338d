import HaulTransfer

extension TransferError {
  /// The error message, with the option of Haul that may help.
  var sentence: String {
    switch remedy {
    case nil: message
    case .allow(let blocks):
      "\(message); if you trust this address, start 'haul worker', 'haul up' or 'haul get' with "
        + blocks.map { "--allow-net \($0)" }.joined(separator: " ")
    case .ifExists: "\(message); use --if-exists skip, replace or rename"
    case .loginOption: "\(message); use --netrc or --credential instead"
    case .digest: "\(message); use --checksum with the correct digest to override this check"
    case .acceptUnverifiedLength:
      "\(message); use --accept-unverified-length to accept a response without a length"
    case .allowScheme(let scheme):
      "\(message); start 'haul worker', 'haul up' or 'haul get' with --allow-scheme \(scheme)"
    case .knownHost:
      "\(message); run ssh-keyscan for the host, check the key, then add the output to the --known-hosts file"
    case .login(let machine):
      "\(message); use --credential with 'haul submit' or 'haul get', or start 'haul worker', 'haul up' or 'haul get' with a --netrc file that has 'machine \(machine)'"
    case .proxyPassword:
      "\(message); put the user and password for the proxy into the --netrc file as 'machine HOST:PORT'"
    }
  }
}
