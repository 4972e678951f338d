// swift-tools-version: 6.2
import PackageDescription

// A package of its own, as yours may be. Build it with: swift build --package-path Examples
let package = Package(
  name: "haul-examples",
  // The name comes from the directory of a clone, so it is given here.
  dependencies: [.package(name: "haul", path: "..")],
  targets: ["Bars", "Manager", "Mirror", "Session", "Stream", "Tested"].map { name in
    .executableTarget(
      name: name, dependencies: [.product(name: "HaulTransfer", package: "haul")],
      swiftSettings: [.treatAllWarnings(as: .error)])
  },
  swiftLanguageModes: [.v6]
)
