// swift-tools-version: 6.2
import PackageDescription

// Like your own package, this package is separate from Haul. Build it with: swift build --package-path Examples
let package = Package(
  name: "haul-examples",
  // Without a name, SwiftPM would use the name of the clone's directory.
  dependencies: [.package(name: "haul", path: "..")],
  targets: ["Bars", "Manager", "Mirror", "Session", "Stream", "Tested"].map { name in
    .executableTarget(
      name: name, dependencies: [.product(name: "HaulTransfer", package: "haul")],
      swiftSettings: [.treatAllWarnings(as: .error)])
  },
  swiftLanguageModes: [.v6]
)
