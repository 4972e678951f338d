@main
enum Haul {
  static func main() async {}
}
