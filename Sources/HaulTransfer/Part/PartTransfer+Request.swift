import HaulSystem
import Synchronization

/// Builds requests, and decides where a redirect leads.
extension PartTransfer {
  /// Returns the request for `url`. `isHome` says that no redirect has left the job's origin. Only then does the request carry
  /// the job's own fields, credentials and certificate. The engine's logins and cookies go only to their own hosts.
  func request(
    to url: WebURL, isHome: Bool, _ fields: [ResponseHead.Field], _ body: [UInt8]?
  ) -> ExchangeRequest {
    var fields = fields + order.openFields
    if isHome { fields += order.fields.map(\.field) + order.credentials }
    let login = login(for: url, isHome: isHome)
    let (isDigest, isGiven) = shared.withLock {
      (login != nil && $0.digestOrigins.contains(url.origin), $0.logins[url.origin] != nil)
    }
    if isDigest || isGiven { fields.removeAll { $0.isNamed("Authorization") } }
    if isDigest {
      // libcurl adds the Authorization field.
    } else if isGiven, let login {
      fields.append(.basic(login))
    } else if !isHome || order.credentials.isEmpty, let login {
      fields.append(.basic(login))
    }
    var request = ExchangeRequest(
      url: url.wire, fields: fields, addressPolicy: isHome ? order.addressPolicy : nil,
      rateLimit: order.rateLimit)
    request.digest = isDigest ? login : nil
    request.certificate = isHome ? order.certificate : nil
    (request.cookies, request.isFresh) = shared.withLock {
      (startingCookies($0), $0.state.attempts.askedFresh)
    }
    request.body = body
    request.method = body == nil && order.method != .head ? .get : order.method
    // libcurl repeats a request if a reused connection is broken, but Haul sends a body only once. (RFC 9110 §9.2.2)
    if body != nil { request.isFresh = true }
    request.proxy = order.proxy
    if url.isFile { request.login = order.login ?? engine.configuration.netrc?.login(for: url) }
    request.connectTimeout = order.connectTimeout
    request.stallTimeout = order.stallTimeout
    // All exchanges for one disk share its threads, so they all hang if the disk hangs.
    request.share = ObjectIdentifier(io)
    return request
  }

  /// Returns the cookies for the next request.
  func startingCookies(_ shared: Shared) -> [String] {
    if let jar = engine.configuration.cookieJar { return jar.all }
    return shared.cookies.isEmpty ? engine.configuration.cookies?.lines ?? [] : shared.cookies
  }

  /// Asks the owner for a login, and returns whether to repeat the request with it. Asks at most three times per origin.
  func wantsLogin(_ result: ExchangeResult, at url: WebURL) async -> Bool {
    guard let authenticate = order.authenticate, let head = result.head, head.status == 401,
      result.outcome == .rejected
    else { return false }
    let asked = shared.withLock { $0.challenges[url.origin, default: 0] }
    guard asked < 3 else { return false }
    let challenge = AuthenticationChallenge(
      url: url.text, host: url.hostKey, schemes: head.values("WWW-Authenticate"), failures: asked)
    guard let login = await answer(to: challenge, authenticate) else { return false }
    return shared.withLock { shared in
      shared.challenges[url.origin] = asked + 1
      shared.logins[url.origin] = login
      if head.asksForDigest { shared.digestOrigins.insert(url.origin) }
      return !shared.isEnded
    }
  }

  /// Asks the owner for a login. Returns nil if the owner has none, or after a stop. A stop does not wait for the
  /// answer, because a person may never give one.
  private func answer(
    to challenge: AuthenticationChallenge,
    _ authenticate: @escaping @Sendable (AuthenticationChallenge) async -> Login?
  ) async -> Login? {
    await withCheckedContinuation { continuation in
      let answer = OneShot(continuation)
      let asking = Task { answer.resume(returning: await authenticate(challenge)) }
      let isEnded = shared.withLock { shared in
        shared.whenEnded = {
          asking.cancel()
          answer.resume(returning: nil)
        }
        return shared.isEnded
      }
      if isEnded { change { _ in } }
    }
  }

  /// Returns the user and password for an http or https URL. Haul uses the first of these that exists: the owner's answer for
  /// the origin, the job's login at the job's origin, the netrc file. Returns nil if there is none.
  func login(for url: WebURL, isHome: Bool) -> Login? {
    if url.isFile { return nil }
    if let given = shared.withLock({ $0.logins[url.origin] }) { return given }
    if isHome, !order.credentials.isEmpty { return order.login }
    return engine.configuration.netrc?.login(for: url, isHome: isHome)
  }

  /// Returns whether to repeat the request with Digest (RFC 7616): the server asks for it, there is a login, and Haul has not
  /// used Digest at this origin yet.
  func wantsDigest(_ head: ResponseHead?, at url: WebURL, isHome: Bool) -> Bool {
    guard let head, head.asksForDigest, login(for: url, isHome: isHome) != nil else { return false }
    return shared.withLock { $0.digestOrigins.insert(url.origin).inserted }
  }

  /// Returns the target of a redirect, and checks its scheme; a target with credentials is an error. A POST keeps its body only
  /// after 307 and 308, a PUT also after 301 and 302. Haul sends no body to another origin. (RFC 9110 §15.4)
  func follow(
    _ location: String, from url: WebURL, keeps body: inout [UInt8]?, status: Int?
  ) -> Result<WebURL, TransferError> {
    do throws(TransferError) {
      let next = try url.resolving(location: location)
      let stays = order.method == .put ? [301, 302, 307, 308] : [307, 308]
      if body != nil, let status, stays.contains(status) {
        guard next.isSameOrigin(as: url) else {
          throw TransferError(
            .blockedURL,
            "the redirect to \(next.redacted) would send the body of the \(order.method.rawValue) to another origin"
          )
        }
      } else {
        body = nil
      }
      guard !next.hasCredentials else {
        throw TransferError(.blockedURL, "the redirect to \(next.redacted) contains credentials")
      }
      return .success(next)
    } catch {
      var error = error
      error.host = url.hostKey
      if !error.message.hasPrefix("the redirect") {
        error.message = "cannot follow the redirect from \(url.hostKey): \(error.message)"
      }
      return .failure(error)
    }
  }
}
