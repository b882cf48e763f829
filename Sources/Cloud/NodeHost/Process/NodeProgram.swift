import Encoding
import Platform
import ServerConfiguration
import Subprocess

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// Finds and checks the `node` program and the app's file.
package enum NodeProgram {
    /// The oldest supported major version.
    static let oldest = 18

    /// Returns the absolute path of an app's file.
    ///
    /// - Throws: `ConfigurationError` if the file doesn't exist or can't be read.
    static func checkedFile(_ path: String) throws(ConfigurationError) -> String {
        let file = URL(fileURLWithPath: path).standardizedFileURL.path
        guard FilePaths.isFolder(file) == false else {
            throw ConfigurationError("option cloud: \(file) is not a file. Set the path of a JavaScript file")
        }
        guard FileManager.default.isReadableFile(atPath: file) else {
            throw ConfigurationError("option cloud: no permission to read \(file)")
        }
        return file
    }

    /// Finds the program.
    ///
    /// - Parameters:
    ///   - wanted: The path in the configuration, or nil to search the PATH.
    ///   - environment: The environment variables, which include the PATH.
    /// - Throws: `ConfigurationError` if it can't be found.
    package static func find(
        _ wanted: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ConfigurationError) -> String {
        let folders = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        let candidates = wanted.map { [$0] } ?? folders.map { "\($0)/node" }
        guard let path = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw ConfigurationError(
                wanted.map { "option cloudNode: \($0) is not an executable file. Set the path of Node.js" }
                    ?? "option cloud: Node.js is needed to run cloud code in JavaScript, and no program node was found on "
                    + "the PATH (Debian: apt-get install nodejs)")
        }
        return path
    }

    /// Checks the version of a program.
    ///
    /// - Throws: `ConfigurationError` if it is too old or unknown.
    static func checkVersion(of path: String) async throws(ConfigurationError) {
        let version = await version(path)
        guard let major = Int(version.drop { $0 == "v" }.prefix { $0 != "." }), major >= oldest else {
            throw ConfigurationError(
                "option cloud: Node.js \(oldest) or later is required, but \(path) "
                    + (version.isEmpty ? "has an unknown version" : "has version \(version)"))
        }
    }

    private static func version(_ path: String) async -> String {
        let result = try? await Subprocess.run(
            .path(FilePath(path)), arguments: ["--version"], output: .string(limit: 256), error: .discarded)
        let text = result?.standardOutput ?? ""
        return String(text.prefix { !$0.isNewline })
    }
}
