import FileStorage
import JSON
import Mail
import NodeHost
import Operations
import Outgoing
import ServerConfiguration

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What all commands read in the same way: the configuration, and the folders that follow from it.
package struct Deployment: Sendable {
    package let configuration: Configuration
    /// What was noticed about options without effect.
    package let warnings: [String]
    /// The folder of the embedded database and of uploaded files.
    package let dataFolder: String
    /// The path of the configuration file, or nil without one.
    package let configurationFile: String?
    /// Where the configuration file is; nil when there is none.
    package let configurationFolder: String?

    /// Reads the configuration.
    ///
    /// - Parameters:
    ///   - arguments: Those of `roost serve`: the configuration file, if the first is no flag, then options as flags.
    ///     Without a file, roost.json in the current folder is read.
    ///   - environment: The variables of the environment.
    ///   - needsKeys: Whether the application must be named: a look at a database needs neither its id nor its keys.
    ///   - app: An app's own index.js, which takes the place of a configuration file.
    /// - Throws: `ConfigurationError`.
    package init(
        arguments: [String], environment: [String: String], needsKeys: Bool = true, app: ServedApp? = nil
    ) throws {
        var flags = arguments
        let file = try app.map { ConfigurationFile($0) } ?? ConfigurationFile.taken(from: &flags)
        let folder = file?.folder ?? FileManager.default.currentDirectoryPath
        var (configuration, warnings) = try Configuration.load(
            file: file?.bytes, fileName: file?.path, environment: environment, flags: flags,
            fallbacks: needsKeys ? [:] : ["appId": "roost", "masterKey": .string(Identifiers.hexadecimal(32))])
        configuration.resolvePaths(in: folder)
        if let app {
            app.configure(&configuration)
            warnings = app.warnings + warnings
        }
        self.configuration = configuration
        self.warnings = warnings
        configurationFile = file?.path
        configurationFolder = file?.folder
        let data = configuration.dataDir ?? folder + "/.roost"
        dataFolder = URL(fileURLWithPath: data).standardizedFileURL.path
    }

    /// The folder of uploaded files.
    package var filesDirectory: String {
        let files = configuration.filesDirectory ?? "files"
        return files.hasPrefix("/") ? files : "\(dataFolder)/\(files)"
    }

    /// Creates the data folder if it is missing.
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

    /// A storage, with the encryption that the configuration asks for.
    static func files(_ storage: any FileStorage, _ configuration: Configuration) -> any FileStorage {
        encrypted(storage, configuration, olderKey: configuration.previousEncryptionKey) ?? storage
    }

    /// A storage whose files are encrypted; nil where the configuration does not ask for that.
    static func encrypted(
        _ storage: any FileStorage, _ configuration: Configuration, olderKey: String?
    ) -> EncryptedStorage? {
        configuration.encryptionKey.map { key in
            EncryptedStorage(
                storage, cipher: FileCipher(secret: key), older: olderKey.map { FileCipher(secret: $0) },
                writesSegments: configuration.encryptionFormat == .segments)
        }
    }

    /// What sends the mails of cloud code; nil where the configuration says no way.
    static func codeMail(_ configuration: Configuration, _ caller: HTTPCaller?) throws -> NodeHost.SendMail? {
        // An adapter of the app's own is called where the code runs.
        guard let delivery = configuration.accountMail.delivery, configuration.nodeMail == nil else { return nil }
        let mail = try CloudMail(delivery, configuration, caller: caller)
        return { try await mail.send($0) }
    }

    /// Where the server itself reaches its interface.
    static func ownAddress(_ configuration: Configuration, port: Int) -> String {
        if configuration.https != nil { return configuration.publicServerURL ?? configuration.serverURL }
        let host = ["0.0.0.0", "::", ""].contains(configuration.host) ? "127.0.0.1" : configuration.host
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return "http://\(name):\(port)\(configuration.mount)"
    }
}
