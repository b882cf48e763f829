import Foundation

/// The checkout that the tests were built from: its scripts, documents and samples.
public enum Checkout {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The absolute path of what lies at `relative`, a path from the root of the checkout.
    public static func path(_ relative: String) -> String {
        folder.appendingPathComponent(relative).path
    }

    /// The folder of the packages from PyPI that the tests' own script installed.
    public static var pythonLibraries: String { path(".build/python") }
}
