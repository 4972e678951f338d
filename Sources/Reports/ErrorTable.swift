package import HaulTransfer
package import JobModel

/// All error classes that a job can end with: the classes of transfers, and the classes that only a pool has.
package enum ErrorTable {
  /// The meaning of an error class and the advice, as in `docs/errors.md`.
  package struct Explanation: Sendable, Equatable {
    /// The cause of the error.
    package var meaning: String
    /// The advice for the user.
    package var advice: String
    /// Whether and how Haul retries after the error.
    package var retry: TransferError.Retry

    /// Creates an explanation.
    package init(_ retry: TransferError.Retry, _ meaning: String, _ advice: String) {
      self.meaning = meaning
      self.advice = advice
      self.retry = retry
    }
  }

  /// An error class with its explanation. The class is spelled as in the database and the logs.
  package struct Row: Sendable {
    package let word: ErrorClass
    package let explanation: Explanation
  }

  /// All rows, in the order of `docs/errors.md`.
  package static let rows =
    TransferError.Class.allCases.map {
      Row(word: ErrorClass(rawValue: $0.rawValue), explanation: explanation(of: $0))
    }
    + ofPool

  /// Classes that the database assigns because of the results of several attempts.
  private static let ofPool = [
    Row(
      word: .silent,
      explanation: .init(
        .host,
        "The host did not answer: several transfers in a row waited for their first byte without success.",
        "Check that the host is up, and that the worker's machine can reach the host.")),
    Row(
      word: .hostUnreachable,
      explanation: .init(
        .kept,
        "The host refused or failed to serve requests for too long. A job waits one day for its host, or half a minute in 'haul get'.",
        "Check the host, then run 'haul retry' or the same 'haul get' again.")),
    Row(
      word: .rescuedTooOften,
      explanation: .init(
        .kept, "Several workers died one after the other while they ran the job.",
        "Read the logs of these workers, then run 'haul retry'.")),
    Row(
      word: .internal,
      explanation: .init(
        .never,
        "The job's data causes an error in the database. Haul ended this job as failed, so that other jobs continue.",
        "Read the message, and submit the job with other data. Report this to the Haul developers.")
    ),
  ]

  /// Returns the advice for an error class; nil for a class that this program does not know.
  package static func advice(on word: ErrorClass) -> String? {
    rows.first { $0.word == word }?.explanation.advice
  }
}

extension ErrorTable {
  /// Returns the explanation of an error class of transfers. The database uses the same class names to decide about retries.
  private static func explanation(of errorClass: TransferError.Class) -> Explanation {
    switch errorClass {
    case .dns:
      .init(
        errorClass.retry, "Haul could not resolve the name of the host.",
        "Check the name in the URL, and the name server of the worker's machine.")
    case .connect:
      .init(
        errorClass.retry, "Haul could not connect to the host, or the host refused the connection.",
        "Check that the host is up, and that the worker's machine can reach the host.")
    case .tls:
      .init(
        errorClass.retry,
        "The TLS or SSH handshake failed, or the certificate or host key is not valid.",
        "Check the certificate of the host, and the clock and CA certificates of the worker's machine. For sftp, check the file of --known-hosts."
      )
    case .timeout:
      .init(
        errorClass.retry,
        "The server did not answer in time, or sent too few bytes per second for too long.",
        "Check the host and the network, then run 'haul retry'.")
    case .interrupted:
      .init(
        errorClass.retry, "The connection broke or the response ended early several times.",
        "Check the host and the network, then run 'haul retry'.")
    case .http403:
      .init(
        errorClass.retry, "403: the server refuses to send this file.",
        "If the URL has expired, use 'haul replace-url'; if the server needs a login, check the job's credential, then run 'haul retry'."
      )
    case .http404:
      .init(
        errorClass.retry, "404: the server does not have this file.",
        "Open the URL in a browser, and submit the correct URL.")
    case .http410:
      .init(
        errorClass.retry, "410: the server no longer has the file.",
        "Find another source of the file, and submit the URL of that source.")
    case .http4xx:
      .init(
        errorClass.retry, "Any other 4xx answer: the server refuses to send this file.",
        "Open the URL in a browser, and submit the correct URL; if the server needs a login, check the job's credential, then run 'haul retry'."
      )
    case .http5xx:
      .init(
        errorClass.retry,
        "The server cannot send this file now. It answered 5xx, 202, 408, 425, or another 4xx with Retry-After.",
        "Wait, or ask the operator of the server, then run 'haul retry'.")
    case .noFile:
      .init(
        errorClass.retry, "The FTP or SFTP server does not have this file, or refuses to send it.",
        "Compare the URL with the file list of the server, and submit the correct URL.")
    case .rateLimited:
      .init(
        errorClass.retry,
        "The host asks for fewer requests. It answered 429 (over FTP: 421), or 403 or 503 with Retry-After. A 403 also counts if its headers say that no requests are left.",
        "Wait, or lower the host's transfer limit with 'haul host set HOST --cap N'.")
    case .protocol:
      .init(
        errorClass.retry, "The answer is not valid HTTP.",
        "Report this to the operator of the server, or of a proxy in between. Then run 'haul retry'."
      )
    case .range:
      .init(
        errorClass.retry,
        "The response ended early, and the server does not support requests for the rest of the file.",
        "Check the network to the host: the file must arrive in one response.")
    case .sourceChanged:
      .init(
        errorClass.retry, "Every attempt found that the file on the server had changed.",
        "Wait until the file on the server no longer changes, then run 'haul retry'.")
    case .suspectPage:
      .init(
        errorClass.retry,
        "The response looks like an error page or a login form, not like the file.",
        "Read the message, and open the URL in a browser. When the file is back, run 'haul retry'."
      )
    case .digest:
      .init(
        errorClass.retry, "The file does not have the expected digest.",
        "Compare the digest in the message with the digest that the source publishes.")
    case .length:
      .init(
        errorClass.retry, "The file does not have the expected length.",
        "Compare the length in the message with the length that the source publishes. Submit the file with the correct length, or without a length."
      )
    case .tooLarge:
      .init(
        errorClass.retry, "The file is larger than --max-bytes allows.",
        "Submit the file with a larger --max-bytes.")
    case .unverifiedLength:
      .init(
        errorClass.retry,
        "The server sent no length, and nothing else confirms that the file is complete.",
        "Submit the file with --checksum, or with --accept-unverified-length.")
    case .blockedAddress:
      .init(
        errorClass.retry,
        "The host's address is private, loopback or link-local, and the worker is not allowed to connect to it.",
        "If you trust the host, start the worker with the --allow-net that the message names, then run 'haul retry'."
      )
    case .blockedURL:
      .init(
        errorClass.retry,
        "The URL or a redirect is not valid, has a scheme that the worker does not allow, names a directory or contains credentials. Or Haul refuses to send a header of the job.",
        "Submit another URL, or other headers; for ftp and sftp start the worker with --allow-scheme, then run 'haul retry'."
      )
    case .blockedCredential:
      .init(
        errorClass.retry,
        "The credential that the job names is not for the origin of the URL.",
        "Submit the job with another --credential, or add the origin to the file of the credential, then run 'haul retry'."
      )
    case .credential:
      .init(
        errorClass.retry,
        "The worker does not have the job's credential or cannot use it. Or an FTP or SFTP server refuses the login.",
        "Put the credential into the directory of 'haul worker --credentials', or repair the problem that the message names. The job then continues by itself."
      )
    case .noCredential:
      .init(
        errorClass.retry,
        "An FTP or SFTP server needs a user, but the job names no credential, and the worker's netrc file has no entry for the host.",
        "Submit the job again with --credential and --on-duplicate replace, or add the host to the file of --netrc, then run 'haul retry'."
      )
    case .proxy:
      .init(
        errorClass.retry,
        "The worker's proxy does not answer or refuses the connection. Or a network between the worker and the host needs a login (511).",
        "Check the proxy, and the worker's --proxy and --netrc. The job then continues by itself."
      )
    case .redirects:
      .init(
        errorClass.retry, "The server redirects too many times.",
        "Open the URL in a browser, and submit the final URL.")
    case .exists:
      .init(
        errorClass.retry, "A file with the final name exists.",
        "Move the existing file and retry the job, or retry it with --if-exists skip, replace or rename."
      )
    case .pathConflict:
      .init(
        errorClass.retry,
        "A directory has the path of the file, or a file is where the path needs a directory.",
        "Submit the file with another --out, or move the existing file or directory.")
    case .diskFull:
      .init(
        errorClass.retry, "The file system of the store is full, or a quota is used up.",
        "Free some space, or give the store more space. Workers continue by themselves when there is space. Use 'haul retry' for jobs that have already failed."
      )
    case .io:
      .init(
        errorClass.retry, "Reading or writing a local file failed.",
        "Check the file system of the store and its mount. Workers wait until the file system works again. Use 'haul retry' for jobs that have already failed."
      )
    case .notPermitted:
      .init(
        errorClass.retry,
        "The worker's user has no permission to write to the directory of the file, or the file system is read-only.",
        "Give the user of the workers write permission for the directory in the message, then run 'haul retry'."
      )
    case .openFiles:
      .init(
        errorClass.retry,
        "The worker's process or its machine has reached the limit of open files.",
        "Raise the limit (LimitNOFILE= of the systemd unit, or 'ulimit -n'), or lower --concurrency. Workers wait until they can open files again."
      )
    case .rejected:
      .init(
        errorClass.retry,
        "A program that uses the library refused the response. Workers never do this.",
        "Read the code of that program: it checks the response.")
    case .cancelled:
      .init(
        errorClass.retry, "A user cancelled the job.", "Use 'haul retry' to queue the job again.")
    }
  }
}
