import Glibc
import JobQueue
import Log
import Postgres

/// Answers the requests of clients.
struct StatusResponder: Sendable {
  let rules: AccessRules
  let reader: PoolReader
  let version: String
  let leader: @Sendable () -> LeaderFacts
  let logger: Logger
  let refusals = RefusalCount()
  let readers = ReaderPlaces()

  /// The header fields of every response. They forbid caching, content sniffing, framing and referrers.
  private static let fields = [
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store", "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": Page.closedPolicy,
  ]

  func answer(_ request: HTTPRequest) async -> HTTPResponse {
    var response =
      switch rules.verdict(on: request, now: Int64(time(nil))) {
      case .answer(let response): response
      case .serve(let endpoint, let isKnown): await serve(endpoint, request, isKnown: isKnown)
      case .begin(let session): Self.begin(session)
      case .askToken(let status, let sentence): ask(status, sentence)
      }
    response.fields.merge(Self.fields) { own, _ in own }
    return response
  }

  private func serve(
    _ endpoint: Endpoint, _ request: HTTPRequest, isKnown: Bool
  ) async -> HTTPResponse {
    let readsDatabase = endpoint.readsDatabase
    guard !readsDatabase || readers.enter() else {
      return .sentence(
        503, "Too many concurrent requests. Try again in a second.", fields: ["Retry-After": "1"])
    }
    defer { if readsDatabase { readers.leave() } }
    switch endpoint {
    case .health, .login: return .sentence(200, "alive")
    case .readiness:
      let reading = await reader.read()
      if reading.live != nil { return .sentence(200, "ready") }
      let reason = isKnown ? reading.trouble : nil
      return .sentence(503, reason ?? "Haul cannot use the database now.")
    case .metrics: return await metrics(request)
    case .state:
      return HTTPResponse(200, "application/json", await state().json + "\n")
    case .jobs: return await found(request) { try await jobs(request) }
    case .job: return await found(request) { try await job(request) }
    case .page:
      return HTTPResponse(
        200, "text/html; charset=utf-8", Page.html(await state()),
        fields: ["Content-Security-Policy": Page.policy])
    }
  }

  private func jobs(_ request: HTTPRequest) async throws -> String {
    let search = try JobSearch(request.query)
    return PageJobs(try await reader.jobs(search)).pageJSON
  }

  private func job(_ request: HTTPRequest) async throws -> String {
    let id = try JobSearch.id(request.query[.id])
    let (row, attempts) = try await reader.job(id)
    return PageJobs.Detail(
      job: PageJobs.Job(row), attempts: attempts.reversed().map(PageJobs.Attempt.init)
    ).pageJSON
  }

  /// Returns the JSON from `body`, or an error with a sentence.
  private func found(
    _ request: HTTPRequest, _ body: () async throws -> String
  ) async -> HTTPResponse {
    do {
      return HTTPResponse(200, "application/json", try await body() + "\n")
    } catch let error as JobSearch.Wrong {
      return .sentence(400, error.sentence)
    } catch JobQueueError.noSuchName {
      return .sentence(404, "There is no such job, batch, queue or host.")
    } catch PostgresError.timedOut {
      return .sentence(
        503, "The database takes too long for this search. Name a batch, queue or host.")
    } catch {
      return .sentence(503, "The database does not answer.", fields: ["Retry-After": "1"])
    }
  }

  private func state() async -> PageState {
    PageState(await reader.read(), leader: leader(), version: version)
  }

  private func metrics(_ request: HTTPRequest) async -> HTTPResponse {
    let start = ContinuousClock.now
    let reading = await reader.read()
    let metrics = PoolMetrics(
      version: version, live: reading.live, counted: reading.counted,
      process: PoolMetrics.ProcessFacts(
        leader: leader(), ended: reading.ended,
        countedAge: reading.countedAge.map { $0 / .seconds(1) },
        countedSeconds: reading.countedSeconds,
        scrapeSeconds: start.duration(to: .now) / .seconds(1)))
    let format = MetricsFormat.preferred(accept: request.fields[.accept])
    return HTTPResponse(200, format.contentType, format.text(metrics.families))
  }

  private func ask(_ status: UInt32, _ sentence: String?) -> HTTPResponse {
    if sentence != nil, let count = refusals.add() {
      logger.warning(.pageRefused, (.reason, "wrong token"), (.count, LogValue(count)))
    }
    return HTTPResponse(
      status, "text/html; charset=utf-8", Page.login(sentence),
      fields: ["Content-Security-Policy": Page.formPolicy])
  }

  private static func begin(_ session: String) -> HTTPResponse {
    let cookie =
      "\(AccessRules.cookie)=\(session); Path=/; Max-Age=\(ListenToken.sessionSeconds); HttpOnly; SameSite=Strict"
    return .sentence(
      303, "Welcome.", fields: ["Location": Endpoint.page.rawValue, "Set-Cookie": cookie])
  }
}
