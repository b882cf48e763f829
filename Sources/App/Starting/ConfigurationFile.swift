import Encoding
import JSON
import NodeHost
import Platform
import ServerConfiguration

/// The contents of a command's configuration file, and the folder of its relative paths.
struct ConfigurationFile {
    /// The path as given on the command line, or the default `roost.json`.
    let path: String
    let bytes: [UInt8]
    /// The base folder of relative paths in the file.
    let folder: String

    /// - Parameter folder: The base folder of relative paths, or nil to use the folder of the file.
    init(path: String, bytes: [UInt8], folder: String? = nil) {
        self.path = path
        self.bytes = bytes
        self.folder = folder ?? URL(fileURLWithPath: path).standardizedFileURL.deletingLastPathComponent().path
    }

    private static let usual = "roost.json"

    /// Removes the file from a command's arguments: the first one unless it is a flag. Defaults to roost.json in the
    /// current folder.
    ///
    /// - Returns: The file, or nil if none is named and roost.json doesn't exist.
    /// - Throws: `ConfigurationError` if the file can't be read.
    static func extract(from arguments: inout [String]) throws(ConfigurationError) -> ConfigurationFile? {
        if let path = arguments.first, !path.hasPrefix("-") {
            arguments.removeFirst()
            return try read(path)
        }
        return FileManager.default.fileExists(atPath: usual) ? try read(usual) : nil
    }

    private static func read(_ path: String) throws(ConfigurationError) -> ConfigurationFile {
        guard let isFolder = FilePaths.isFolder(path) else {
            guard !path.contains("://") else {
                throw ConfigurationError(
                    "A URI can't be the configuration file. Pass the URI of the database with --databaseURI",
                    isUsage: true)
            }
            let folder = path.hasPrefix("/") ? "" : " in \(FileManager.default.currentDirectoryPath)"
            throw ConfigurationError(
                "File not found: \(path)\(folder). Pass the configuration file, for example roost serve \(usual)")
        }
        guard !isFolder else {
            throw ConfigurationError("\(path) is a folder. Pass the path of the configuration file in it")
        }
        do {
            return ConfigurationFile(path: path, bytes: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
        } catch {
            throw ConfigurationError("\(path) can't be read: \(ErrorText.reason(error)). Check its owner and mode")
        }
    }

    /// Creates the configuration from the options of an app's own index.js.
    init(_ app: ServedApp) {
        self.init(path: app.file.name, bytes: app.options.serialized(), folder: app.file.folder)
    }
}
