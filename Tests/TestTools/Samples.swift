import Foundation

/// The sizes of tests with random input.
public enum Samples {
    private static let isComplete = ProcessInfo.processInfo.environment["ROOST_TEST_SAMPLES"] == "all"

    /// Returns a tenth of a number of samples, or all of them in the second part of `make test-all`.
    public static func count(_ all: Int) -> Int { isComplete ? all : all / 10 }
}
