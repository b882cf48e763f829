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

    /// A program that was built with the tests, beside their bundle; `ROOST_BINARY` names another `roost`.
    public static func program(_ name: String = "roost") -> String? {
        if name == "roost", let path = ProcessInfo.processInfo.environment["ROOST_BINARY"] { return path }
        let candidates = CommandLine.arguments + Bundle.allBundles.map(\.bundlePath)
        for path in candidates where path.contains(".xctest") {
            var url = URL(fileURLWithPath: path)
            while !url.lastPathComponent.hasSuffix(".xctest"), url.path != "/" { url.deleteLastPathComponent() }
            let binary = url.deletingLastPathComponent().appendingPathComponent(name).path
            if FileManager.default.isExecutableFile(atPath: binary) { return binary }
        }
        return nil
    }
}
