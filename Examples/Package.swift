// swift-tools-version: 6.2
import PackageDescription

// A package of its own, as yours may be. Build it with: swift build --package-path Examples
let package = Package(
  name: "haul-examples",
  // The name comes from the directory of a clone, so it is given here.
  dependencies: [.package(name: "haul", path: "..")],
  targets: [
    .executableTarget(
      name: "Mirror", dependencies: [.product(name: "HaulTransfer", package: "haul")])
  ],
  swiftLanguageModes: [.v6]
)
