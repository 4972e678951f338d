/// Decides which member of the line (a waiting download) starts next: by priority, then by order of arrival. A total limit and
/// a limit per host apply. This type has no side effects.
///
/// With n waiting members, each call takes O(log n) time on average. A new limit per host takes longer.
struct DownloadLine<Member: Hashable & Sendable>: Sendable {
  private struct Place: Sendable {
    let member: Member
    let host: String
    var priority: Int
    /// The order of arrival.
    let arrival: Int
    /// The number that distinguishes a place from an older place of the same member.
    var number: Int

    func precedes(_ other: Place) -> Bool {
      priority != other.priority ? priority > other.priority : arrival < other.arrival
    }
  }

  /// The maximum number of members that run at the same time.
  var limit: Int
  /// The maximum number of members of one host that run at the same time; nil for no limit.
  var limitPerHost: Int? {
    didSet { unpark() }
  }
  /// Whether no member may start.
  var isSuspended = false

  /// The place of each waiting member, and the host of each running member.
  private var waiting: [Member: Place] = [:]
  private var running: [Member: String] = [:]
  private var runningOfHost: [String: Int] = [:]
  private var numbers = 0
  private var heap = Heap(precedes: { (one: Place, other: Place) in one.precedes(other) })
  /// For each host, the places whose turn came while the host was at its limit.
  private var parked: [String: Heap<Place>] = [:]

  init(limit: Int, limitPerHost: Int? = nil) {
    self.limit = limit
    self.limitPerHost = limitPerHost
  }

  /// The number of places in memory. This includes stale places: their members have left or have a newer place.
  var places: Int { heap.count + parked.values.reduce(0) { $0 + $1.count } }

  /// Adds a member behind all waiting members with the same or a higher priority. If the member is already waiting, it gets a
  /// new place.
  mutating func add(_ member: Member, host: String, priority: Int) {
    numbers += 1
    take(
      Place(member: member, host: host, priority: priority, arrival: numbers, number: numbers))
  }

  /// Changes the priority of a waiting member. Members with the same priority keep their order of arrival.
  mutating func prioritize(_ member: Member, _ priority: Int) {
    guard var place = waiting[member], place.priority != priority else { return }
    numbers += 1
    (place.priority, place.number) = (priority, numbers)
    take(place)
  }

  private mutating func take(_ place: Place) {
    waiting[place.member] = place
    heap.insert(place)
    guard heap.count > 2 * waiting.count + 16 else { return }
    // Most places are stale, so rebuild the heap from the waiting members. Parked members return to the heap.
    parked = [:]
    heap = Heap(precedes: { $0.precedes($1) })
    for place in waiting.values { heap.insert(place) }
  }

  /// Removes a waiting or running member. An unknown member is not an error.
  mutating func remove(_ member: Member) {
    waiting[member] = nil
    guard let host = running.removeValue(forKey: member) else { return }
    runningOfHost[host, default: 1] -= 1
    if runningOfHost[host] == 0 { runningOfHost[host] = nil }
    while let next = parked[host]?.removeFirst() {
      if parked[host]?.isEmpty == true { parked[host] = nil }
      // The place is stale: its member has left or has a newer place.
      guard waiting[next.member]?.number == next.number else { continue }
      heap.insert(next)
      break
    }
  }

  /// Starts the next member and returns it; nil if none may start now.
  mutating func next() -> Member? {
    guard !isSuspended, running.count < limit else { return nil }
    while let place = heap.removeFirst() {
      // The place is stale: its member has left or has a newer place.
      guard waiting[place.member]?.number == place.number else { continue }
      if let limitPerHost, runningOfHost[place.host, default: 0] >= limitPerHost {
        parked[place.host, default: Heap(precedes: { $0.precedes($1) })].insert(place)
        continue
      }
      waiting[place.member] = nil
      running[place.member] = place.host
      runningOfHost[place.host, default: 0] += 1
      return place.member
    }
    return nil
  }

  private mutating func unpark() {
    for places in parked.values {
      var places = places
      while let place = places.removeFirst() { heap.insert(place) }
    }
    parked = [:]
  }
}

/// A binary heap.
private struct Heap<Element: Sendable>: Sendable {
  private var elements: [Element] = []
  private let precedes: @Sendable (Element, Element) -> Bool

  init(precedes: @escaping @Sendable (Element, Element) -> Bool) {
    self.precedes = precedes
  }

  var isEmpty: Bool { elements.isEmpty }
  var count: Int { elements.count }

  mutating func insert(_ element: Element) {
    elements.append(element)
    var child = elements.count - 1
    while child > 0, precedes(elements[child], elements[(child - 1) / 2]) {
      elements.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func removeFirst() -> Element? {
    guard let last = elements.popLast() else { return nil }
    guard let first = elements.first else { return last }
    elements[0] = last
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < elements.count && precedes(elements[child], elements[least]) {
        least = child
      }
      if least == parent { return first }
      elements.swapAt(parent, least)
      parent = least
    }
  }
}
