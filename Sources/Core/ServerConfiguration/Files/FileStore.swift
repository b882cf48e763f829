import JSON

extension Configuration {
    /// The store of uploaded files.
    public enum FileStore: Sendable {
        /// A local folder.
        case disk
        /// A bucket of Amazon S3 or an S3-compatible service.
        case s3(S3)
        /// A bucket of Google Cloud Storage.
        case google(GoogleStorage)
        /// The app's database.
        case postgres(PostgresFiles)

        /// Reads a store from a command's argument: the name of a module, or an adapter as JSON.
        ///
        /// - Returns: The store, and the folder if a disk store names one.
        /// - Throws: `ConfigurationError` for an unknown module or invalid settings.
        public static func read(
            _ text: String, environment: [String: String]
        ) throws(ConfigurationError) -> (store: FileStore, folder: String?) {
            let json = try? JSONValue(parsing: Array(text.utf8))
            // Errors quote an unknown module name, but not JSON, which may contain keys.
            guard json != nil || !text.contains("{") else {
                throw ConfigurationError("STORE is invalid JSON", isUsage: true)
            }
            let adapter = FileStoreReader.complete(json ?? .string(text), from: environment)
            do {
                let reading = try FileStoreReader.read(adapter, path: "STORE")
                return (reading.store, reading.folder)
            } catch {
                throw ConfigurationError(error.message, isUsage: true)
            }
        }

        /// The name shown in command output, such as `s3 music`.
        public var name: String {
            switch self {
            case .disk: "disk"
            case .s3(let bucket): "s3 \(bucket.bucket)"
            case .google(let store): "gcs \(store.bucket.bucket)"
            case .postgres: "postgres"
            }
        }

        mutating func resolvePaths(in folder: String) {
            guard case .google(var store) = self else { return }
            store.folder = folder
            self = .google(store)
        }
    }

    /// Settings for files in the database.
    public struct PostgresFiles: Sendable {
        /// The size in bytes of each chunk of a file except the last.
        public var chunkSize = 256 * 1024
        /// The maximum total size of all files in bytes, or nil for no limit.
        public var maximumTotal: Int?

        init(_ options: inout AdapterOptions) throws(ConfigurationError) {
            chunkSize = try options.whole("chunkSize", in: 65_536...1_048_576) ?? chunkSize
            guard let value = options.value("maximumTotal") else { return }
            guard let bytes = ByteCount.read(value), bytes > 0 else {
                throw ConfigurationError("option \(options.path).maximumTotal must be a size such as 10gb")
            }
            maximumTotal = bytes
        }
    }
}

enum FileStoreReader {
    private enum Module: CaseIterable {
        case disk, s3, google, postgres

        var names: [String] {
            switch self {
            case .disk: ["@parse/fs-files-adapter", "parse-server-fs-adapter", "fs"]
            case .s3: ["@parse/s3-files-adapter", "parse-server-s3-adapter", "S3Adapter", "./Files/S3Adapter.js", "s3"]
            case .google:
                ["@parse/gcs-files-adapter", "parse-server-gcs-adapter", "GCSAdapter", "./Files/GCSAdapter.js", "gcs"]
            case .postgres: ["postgres", "postgresql"]
            }
        }

        init?(_ name: String) {
            guard let module = Self.allCases.first(where: { $0.names.contains(name) }) else { return nil }
            self = module
        }
    }

    /// Adds options from the environment variables that parse-server's adapters read, if they are missing, empty or
    /// false.
    static func complete(_ adapter: JSONValue, from environment: [String: String]) -> JSONValue {
        guard let name = adapter.stringValue ?? adapter["module"]?.stringValue, let module = Module(name) else {
            return adapter
        }
        var options = adapter["options"]?.objectValue ?? [:]
        func complete(_ variables: [(String, String)], _ read: (String) -> JSONValue) {
            for (option, variable) in variables where Configuration.isHarmless(options[option] ?? .null) {
                if let text = environment[variable], !text.isEmpty { options[option] = read(text) }
            }
        }
        switch module {
        case .s3:
            complete(Configuration.S3.texts) { .string($0) }
            complete(Configuration.S3.flags) { .bool($0 == "true" || $0 == "1") }
        case .google:
            complete(Configuration.GoogleStorage.texts) { .string($0) }
            complete(Configuration.GoogleStorage.flags) { .bool($0 == "true" || $0 == "1") }
        case .disk, .postgres: return adapter
        }
        return ["module": .string(name), "options": .object(options)]
    }

    /// The settings of an adapter.
    struct Reading {
        var store: Configuration.FileStore
        /// The folder of files, relative to the data folder, or nil for the default.
        var folder: String?
        var encryptionKey: String?
    }

    /// Applies the option `filesAdapter` to the configuration.
    ///
    /// - Throws: `ConfigurationError` for an unknown module, invalid settings, or direct URLs of encrypted files.
    static func read(_ adapter: JSONValue, into configuration: inout Configuration) throws(ConfigurationError) {
        let reading = try read(adapter, path: "filesAdapter")
        configuration.fileStore = reading.store
        configuration.filesDirectory = reading.folder ?? configuration.filesDirectory
        configuration.encryptionKey = reading.encryptionKey ?? configuration.encryptionKey
        guard reading.store.direct == nil || configuration.encryptionKey == nil else {
            throw ConfigurationError(
                "option filesAdapter.options.directAccess: files are encrypted (encryptionKey), so clients can't read "
                    + "them from the store. Remove one of the two")
        }
    }

    /// Applies the option `filesFallback` to the configuration.
    ///
    /// - Throws: `ConfigurationError` for an unknown module, invalid settings, a second disk store, or a different
    ///   encryption key.
    static func readFallbacks(_ adapters: JSONValue, into configuration: inout Configuration) throws(ConfigurationError)
    {
        for adapter in adapters.arrayValue ?? [] {
            let reading = try read(adapter, path: "filesFallback")
            if case .disk = reading.store {
                // All disk stores share one folder, `filesDirectory`.
                let others = [configuration.fileStore] + configuration.fileStoreFallbacks
                for case .disk in others {
                    throw ConfigurationError("option filesFallback can't be the disk: another store already uses it")
                }
                configuration.filesDirectory = reading.folder ?? configuration.filesDirectory
            }
            guard reading.encryptionKey == nil || reading.encryptionKey == configuration.encryptionKey else {
                throw ConfigurationError(
                    "option filesFallback can't set encryptionKey: all stores share the one of the server")
            }
            configuration.fileStoreFallbacks.append(reading.store)
        }
    }

    /// - Parameter path: The option's name, for errors.
    /// - Throws: `ConfigurationError` for an unknown module or invalid settings.
    static func read(_ adapter: JSONValue, path: String) throws(ConfigurationError) -> Reading {
        let name = adapter.stringValue ?? adapter["module"]?.stringValue ?? ""
        guard let module = Module(name) else { throw unknown(name, path) }
        if let options = adapter["options"], !options.isNull, options.objectValue == nil {
            throw ConfigurationError("option \(path).options must be an object")
        }
        // As in JavaScript, an empty string counts as unset.
        let given = (adapter["options"]?.objectValue ?? [:]).filter { $0.value != "" }
        var options = AdapterOptions(name, given, path: "\(path).options")
        var reading = Reading(store: .disk)
        switch module {
        case .disk:
            if let folder = try options.text("filesSubDirectory") {
                guard !folder.contains("..") else {
                    throw ConfigurationError("option \(path).options.filesSubDirectory must not contain ..")
                }
                reading.folder = "files/\(folder)"
            }
            reading.encryptionKey = try options.text("encryptionKey")
        case .s3: reading.store = .s3(try Configuration.S3(&options))
        case .google: reading.store = .google(try Configuration.GoogleStorage(&options))
        case .postgres: reading.store = .postgres(try Configuration.PostgresFiles(&options))
        }
        try options.checkAllKnown()
        return reading
    }

    private static func unknown(_ name: String, _ path: String) -> ConfigurationError {
        if name.lowercased().contains("grid") {
            return ConfigurationError(
                "option \(path): \(name) keeps files in MongoDB, which Roost doesn't use. Remove the option to "
                    + "store files on disk, or use @parse/s3-files-adapter or postgres")
        }
        let names = Module.allCases.flatMap(\.names)
        let advice =
            names.nearest(to: name).map { "Did you mean \($0)?" } ?? "Allowed: \(names.joined(separator: ", "))"
        return ConfigurationError(
            "option \(path): unknown module \(name.isEmpty ? "without a name" : name). \(advice)")
    }
}
