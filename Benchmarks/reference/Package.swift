// swift-tools-version: 6.1
import PackageDescription

// A bare route of an HTTP library, the reference for Roost's health check.
let package = Package(
    name: "reference",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.10.0")
    ],
    targets: [
        .executableTarget(
            name: "bare",
            dependencies: [.product(name: "Hummingbird", package: "hummingbird")])
    ]
)
