import JSON

extension Configuration {
    /// Where uploaded files are.
    public enum FileStore: Sendable {
        /// In a folder.
        case disk
        /// In a bucket of Amazon's, or of another service that speaks S3.
        case s3(S3)
        /// In the database.
        case postgres(PostgresFiles)
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
                throw ConfigurationError("Key \(options.path).maximumTotal must be a size such as 10gb")
            }
            maximumTotal = bytes
        }
    }
}

/// Reads the option `filesAdapter`.
enum FileStoreReader {
    /// The modules that there are, by all names that parse-server's users wrote.
    private enum Module: CaseIterable {
        case disk, s3, postgres

        var names: [String] {
            switch self {
            case .disk: ["@parse/fs-files-adapter", "parse-server-fs-adapter", "fs"]
            case .s3: ["@parse/s3-files-adapter", "parse-server-s3-adapter", "S3Adapter", "./Files/S3Adapter.js", "s3"]
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
        guard let name = adapter.stringValue ?? adapter["module"]?.stringValue, Module(name) == .s3 else {
            return adapter
        }
        var options = adapter["options"]?.objectValue ?? [:]
        Configuration.S3.complete(&options, from: environment)
        return ["module": .string(name), "options": .object(options)]
    }

    /// Reads the option.
    ///
    /// - Throws: `ConfigurationError` for a module that there is not, or settings that it cannot use.
    static func read(_ adapter: JSONValue, into configuration: inout Configuration) throws(ConfigurationError) {
        let name = adapter.stringValue ?? adapter["module"]?.stringValue ?? ""
        guard let module = Module(name) else { throw unknown(name) }
        if let options = adapter["options"], !options.isNull, options.objectValue == nil {
            throw ConfigurationError("Key filesAdapter.options must be an object")
        }
        // An empty text says nothing, as in JavaScript.
        let given = (adapter["options"]?.objectValue ?? [:]).filter { $0.value != "" }
        var options = AdapterOptions(name, given, path: "filesAdapter.options")
        switch module {
        case .disk:
            if let folder = try options.text("filesSubDirectory") {
                guard !folder.contains("..") else {
                    throw ConfigurationError("Key filesAdapter.options.filesSubDirectory has an invalid value")
                }
                configuration.filesDirectory = "files/\(folder)"
            }
            if let key = try options.text("encryptionKey") { configuration.encryptionKey = key }
        case .s3:
            configuration.fileStore = .s3(try Configuration.S3(&options))
        case .postgres:
            configuration.fileStore = .postgres(try Configuration.PostgresFiles(&options))
        }
        try options.checkAllKnown()
    }

    private static func unknown(_ name: String) -> ConfigurationError {
        if name.lowercased().contains("grid") {
            return ConfigurationError(
                "option filesAdapter: \(name) keeps files in MongoDB, which is not there. Leave the option out for files "
                    + "on the disk, or use @parse/s3-files-adapter or postgres")
        }
        let names = Module.allCases.flatMap(\.names)
        let nearest = names.min { distance($0, name) < distance($1, name) } ?? ""
        return ConfigurationError(
            "option filesAdapter: there is no module \(name.isEmpty ? "without a name" : name). The nearest is \(nearest)"
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
