import JSON

extension Configuration {
    /// Where uploaded files are.
    public enum FileStore: Sendable {
        /// In a folder.
        case disk
        /// In a bucket of Amazon's, or of another service that speaks S3.
        case s3(S3)
        /// In a bucket of Google Cloud Storage.
        case google(GoogleStorage)
        /// In the database.
        case postgres(PostgresFiles)

        /// Reads the name of a module, or the JSON of an adapter, as a command has it.
        ///
        /// - Returns: The store; for one on the disk the folder, where one is named.
        /// - Throws: `ConfigurationError` for a module that there is not, or settings that it cannot use.
        public static func read(
            _ text: String, environment: [String: String]
        ) throws(ConfigurationError) -> (store: FileStore, folder: String?) {
            let json = try? JSONValue(parsing: Array(text.utf8))
            // A name that is none is shown, the keys of a bucket are not.
            guard json != nil || !text.contains("{") else { throw ConfigurationError("the value is not valid JSON") }
            let reading = try FileStoreReader.read(
                FileStoreReader.complete(json ?? .string(text), from: environment), path: "the store")
            return (reading.store, reading.folder)
        }

        /// What it is called where people read it.
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

    /// Files in the database.
    public struct PostgresFiles: Sendable {
        /// The bytes of each row but the last of a file.
        public var chunkSize = 256 * 1024
        /// The most bytes of all files; nil for as many as there is room for.
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
    /// The modules that there are, by all names that parse-server's users wrote.
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

    /// Puts variables of the environment, which the adapters of parse-server read by themselves, where options are missing.
    static func complete(_ adapter: JSONValue, from environment: [String: String]) -> JSONValue {
        guard let name = adapter.stringValue ?? adapter["module"]?.stringValue, let module = Module(name) else {
            return adapter
        }
        var options = adapter["options"]?.objectValue ?? [:]
        switch module {
        case .s3: Configuration.S3.complete(&options, from: environment)
        case .google: Configuration.GoogleStorage.complete(&options, from: environment)
        case .disk, .postgres: return adapter
        }
        return ["module": .string(name), "options": .object(options)]
    }

    /// What an adapter says.
    struct Reading {
        var store: Configuration.FileStore
        /// The folder of files on the disk, below that of the data; nil for the usual one.
        var folder: String?
        var encryptionKey: String?
    }

    /// Reads the option `filesAdapter`.
    ///
    /// - Throws: `ConfigurationError` for a module that there is not, or settings that it cannot use.
    static func read(_ adapter: JSONValue, into configuration: inout Configuration) throws(ConfigurationError) {
        let reading = try read(adapter, path: "filesAdapter")
        configuration.fileStore = reading.store
        configuration.filesDirectory = reading.folder ?? configuration.filesDirectory
        configuration.encryptionKey = reading.encryptionKey ?? configuration.encryptionKey
        guard reading.store.direct == nil || configuration.encryptionKey == nil else {
            throw ConfigurationError(
                "option filesAdapter.options.directAccess: files are encrypted (encryptionKey), so clients can't read "
                    + "them at the store")
        }
    }

    /// Reads the option `filesFallback`.
    ///
    /// - Throws: `ConfigurationError`, also for a folder that the configuration names already.
    static func readFallbacks(_ adapters: JSONValue, into configuration: inout Configuration) throws(ConfigurationError)
    {
        for adapter in adapters.arrayValue ?? [] {
            let reading = try read(adapter, path: "filesFallback")
            if case .disk = reading.store {
                // There is one folder of files.
                let others = [configuration.fileStore] + configuration.fileStoreFallbacks
                for case .disk in others {
                    throw ConfigurationError("option filesFallback must be another store than the disk")
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

    /// Reads an adapter.
    ///
    /// - Parameter path: What the option is called.
    /// - Throws: `ConfigurationError` for a module that there is not, or settings that it cannot use.
    static func read(_ adapter: JSONValue, path: String) throws(ConfigurationError) -> Reading {
        let name = adapter.stringValue ?? adapter["module"]?.stringValue ?? ""
        guard let module = Module(name) else { throw unknown(name) }
        if let options = adapter["options"], !options.isNull, options.objectValue == nil {
            throw ConfigurationError("option \(path).options must be an object")
        }
        // An empty text says nothing, as in JavaScript.
        let given = (adapter["options"]?.objectValue ?? [:]).filter { $0.value != "" }
        var options = AdapterOptions(name, given, path: "\(path).options")
        var reading = Reading(store: .disk)
        switch module {
        case .disk:
            if let folder = try options.text("filesSubDirectory") {
                guard !folder.contains("..") else {
                    throw ConfigurationError("option \(path).options.filesSubDirectory has an invalid value")
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

    private static func unknown(_ name: String) -> ConfigurationError {
        if name.lowercased().contains("grid") {
            return ConfigurationError(
                "option filesAdapter: \(name) keeps files in MongoDB, which Roost doesn't use. Remove the option to "
                    + "store files on disk, or use @parse/s3-files-adapter or postgres")
        }
        let names = Module.allCases.flatMap(\.names)
        let nearest = names.min { distance($0, name) < distance($1, name) } ?? ""
        return ConfigurationError(
            "option filesAdapter: unknown module \(name.isEmpty ? "without a name" : name). The nearest is \(nearest)"
        )
    }

    /// How many letters differ between two names (Levenshtein).
    private static func distance(_ first: String, _ second: String) -> Int {
        let second = Array(second.lowercased())
        var row = Array(0...second.count)
        for (index, letter) in first.lowercased().enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in second.enumerated() {
                let here = min(row[column] + 1, row[column + 1] + 1, diagonal + (letter == other ? 0 : 1))
                diagonal = row[column + 1]
                row[column + 1] = here
            }
        }
        return row[second.count]
    }
}
