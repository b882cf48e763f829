import Foundation

/// The checkout that the tests were built from.
public enum Checkout {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Returns the absolute path of a path relative to the checkout's root.
    public static func path(_ relative: String) -> String {
        folder.appendingPathComponent(relative).path
    }

    /// The folder of Python packages installed by `scripts/test_libraries.sh`.
    public static var pythonLibraries: String { path(".build/python") }

    /// Returns the path of a program built with the tests, next to their bundle. `ROOST_BINARY` overrides `roost`.
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
