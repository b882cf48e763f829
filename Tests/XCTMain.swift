import Foundation
import Testing

/// The entry point of the test program. Because of this file, SwiftPM doesn't index the tests to find those of XCTest,
/// which would take a third of their compile time.
@main
struct TestProgram {
    static func main() async {
        if CommandLine.arguments.contains("--dump-tests-json") {
            print("To filter tests, add --enable-swift-testing --disable-xctest to `swift test`.")
            exit(1)
        }
        await Testing.__swiftPMEntryPoint() as Never
    }
}
