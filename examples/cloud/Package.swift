// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "cloud-example",
    platforms: [.macOS(.v15)],
    dependencies: [
        // In a package of your own: .package(url: "…", from: "…")
        .package(name: "roost", path: "../..")
    ],
    targets: [
        .executableTarget(name: "CloudExample", dependencies: [.product(name: "Roost", package: "roost")])
    ]
)
