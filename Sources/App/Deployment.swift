import Encoding
import FileStorage
import JSON
import Mail
import NodeHost
import Operations
import Outgoing
import Platform
import ServerConfiguration

/// The configuration and its folders, which all commands read in the same way.
package struct Deployment: Sendable {
    package let configuration: Configuration
    /// Warnings about the options, for example about those without effect.
    package let warnings: [String]
    /// The folder of the embedded PostgreSQL and, by default, of uploaded files.
    package let dataFolder: String
    /// The path of the configuration file or of the app's own index.js, or nil without a file.
    package let configurationFile: String?
    /// Whether the options come from the app's own index.js, which only `roost serve` runs.
    let isApp: Bool
    /// The base folder of the file's relative paths, except for `dataDir` and `filesDirectory`, or nil without a file.
    package let configurationFolder: String?

    /// Reads the configuration.
    ///
    /// - Parameters:
    ///   - arguments: The command's arguments: the configuration file, unless the first argument is a flag, then
    ///     options as flags. Without a file, roost.json in the current folder is read.
    ///   - environment: The environment variables.
    ///   - needsKeys: Whether `appId` and `masterKey` are required. Only `roost serve` needs them.
    ///   - app: The app's own index.js, used instead of a configuration file.
    /// - Throws: `ConfigurationError`.
    package init(
        arguments: [String], environment: [String: String], needsKeys: Bool = true, app: ServedApp? = nil
    ) throws {
        var flags = arguments
        let file = try app.map { ConfigurationFile($0) } ?? ConfigurationFile.extract(from: &flags)
        let folder = file?.folder ?? FileManager.default.currentDirectoryPath
        var (configuration, warnings) = try Configuration.load(
            file: file?.bytes, fileName: file?.path, environment: environment, flags: flags,
            fallbacks: needsKeys ? [:] : ["appId": "roost", "masterKey": .string(Identifiers.hexadecimal(32))])
        configuration.resolvePaths(in: folder)
        try configuration.accountMail.delivery?.checkPackage(
            in: [folder] + (app.map { [FilePaths.folder(of: $0.file.path)] } ?? []))
        if let app {
            app.configure(&configuration)
            warnings = app.warnings + warnings
        }
        self.configuration = configuration
        self.warnings = warnings
        configurationFile = file?.path
        isApp = app != nil
        configurationFolder = file?.folder
        let data = configuration.dataDir ?? folder + "/.roost"
        dataFolder = URL(fileURLWithPath: data).standardizedFileURL.path
    }

    package var filesDirectory: String {
        let files = configuration.filesDirectory ?? "files"
        return files.hasPrefix("/") ? files : "\(dataFolder)/\(files)"
    }

    func makeDataFolder() throws(CommandFailure) {
        do {
            try FileManager.default.createDirectory(atPath: dataFolder, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                "The data folder \(dataFolder) can't be created: \(ErrorText.reason(error)). Set dataDir to a folder that "
                    + "this user may write to.")
        }
    }

    package var postgresFolder: String { dataFolder + "/postgres" }

    /// Returns the storage, with encryption if the configuration has an encryption key.
    static func files(_ storage: any FileStorage, _ configuration: Configuration) -> any FileStorage {
        encrypted(storage, configuration, olderKey: configuration.previousEncryptionKey) ?? storage
    }

    /// Returns the storage with encryption, or nil if the configuration has no encryption key.
    static func encrypted(
        _ storage: any FileStorage, _ configuration: Configuration, olderKey: String?
    ) -> EncryptedStorage? {
        configuration.encryptionKey.map { key in
            EncryptedStorage(
                storage, cipher: FileCipher(secret: key), older: olderKey.map { FileCipher(secret: $0) },
                writesSegments: configuration.encryptionFormat == .segments)
        }
    }

    /// Returns the function that sends emails of cloud code, or nil if the server itself sends no emails.
    static func codeMail(
        _ configuration: Configuration, _ writer: MailWriter?, _ caller: HTTPCaller?
    ) throws -> NodeHost.SendMail? {
        // If the app has its own mail adapter, Node.js calls it directly.
        guard let writer, configuration.nodeMail == nil else { return nil }
        let mail = try CloudMail(configuration, writer, caller: caller)
        return { try await mail.send($0) }
    }

    /// Returns the URL at which the server can call its own API.
    static func ownAddress(_ configuration: Configuration, port: Int) -> String {
        if configuration.https != nil { return configuration.publicServerURL ?? configuration.serverURL }
        let host = ["0.0.0.0", "::", ""].contains(configuration.host) ? "127.0.0.1" : configuration.host
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return "http://\(name):\(port)\(configuration.mount)"
    }
}
