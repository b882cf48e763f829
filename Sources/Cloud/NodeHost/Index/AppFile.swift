import Encoding
import JSON
import Platform
import ServerConfiguration

/// An app's own `index.js`, which creates its server with parse-server.
package struct AppFile: Sendable {
    package let path: String
    /// Node's working directory, and the base of relative paths.
    package let folder: String
    /// The file as named by the argument or `package.json`, for messages.
    package let name: String

    private static let endings: Set<String> = ["js", "mjs", "cjs"]

    /// Finds the file that an argument of `roost serve` names: a JavaScript file, or a folder with a `package.json`. In
    /// a folder, it is the file that `scripts.start` or `main` names, or `index.js`.
    ///
    /// - Returns: The file, or nil if the argument is something else, such as a configuration file.
    /// - Throws: `ConfigurationError` if the file can't be read or is TypeScript, or `package.json` isn't JSON.
    package init?(argument: String, currentFolder: String) throws(ConfigurationError) {
        let argumentPath = argument.hasPrefix("/") ? argument : "\(currentFolder)/\(argument)"
        if FilePaths.isFolder(argumentPath) == true {
            guard let package = FileManager.default.contents(atPath: "\(argumentPath)/package.json") else { return nil }
            guard let json = try? JSONValue(parsing: Array(package)) else {
                throw ConfigurationError("\(argument)/package.json is not valid JSON")
            }
            folder = Self.plain(argumentPath)
            name = Self.started(by: json["scripts"]?["start"]?.stringValue) ?? json["main"]?.stringValue ?? "index.js"
            path = Self.plain(name.hasPrefix("/") ? name : "\(folder)/\(name)")
        } else {
            let ending = FilePaths.fileExtension(of: argument)
            guard !["ts", "mts", "cts"].contains(ending) else {
                throw ConfigurationError(
                    "\(argument) is TypeScript. Compile it, for example with npx tsc, and start the JavaScript file")
            }
            guard Self.endings.contains(ending) else { return nil }
            (folder, path, name) = (Self.plain(currentFolder), Self.plain(argumentPath), argument)
        }
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw ConfigurationError("File not found or not readable: \(name) in \(folder)")
        }
    }

    private static func plain(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }

    /// Returns the last JavaScript file in a start script, or nil if there is none or the script doesn't run `node`.
    private static func started(by script: String?) -> String? {
        guard let words = script?.split(separator: " "), words.contains("node") else { return nil }
        return words.map(String.init).last { endings.contains(FilePaths.fileExtension(of: $0)) }
    }
}
