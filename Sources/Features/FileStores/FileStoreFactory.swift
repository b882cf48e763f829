public import FileStorage
public import Logging
import Outgoing
public import ServerConfiguration
public import Telemetry

/// Creates the file storage of a configuration.
public enum FileStoreFactory {
    /// Creates the configured storage with its fallbacks. Opens no connections yet.
    ///
    /// - Parameters:
    ///   - folder: The folder for files on disk.
    ///   - database: The connection string of the database.
    ///   - meters: Counts requests to buckets.
    /// - Throws: `ConfigurationError`, or `HTTPCallFailure` if the trusted certificates can't be read.
    public static func storage(
        _ configuration: Configuration, folder: String, database: String,
        meters: FileStoreMeters = FileStoreMeters(), logger: Logger
    ) throws -> any FileStorage {
        let stores = try ([configuration.fileStore] + configuration.fileStoreFallbacks).map {
            try storage($0, configuration, folder: folder, database: database, meters: meters, logger: logger)
        }
        return stores.count == 1 ? stores[0] : FallbackStorage(stores[0], others: Array(stores.dropFirst()))
    }

    /// Creates a single storage. Opens no connections yet.
    ///
    /// - Parameters:
    ///   - store: The kind of storage, with its options.
    ///   - folder: The folder for files on disk.
    ///   - database: The connection string of the database.
    ///   - meters: Counts requests to buckets.
    /// - Throws: `ConfigurationError`, or `HTTPCallFailure` if the trusted certificates can't be read.
    public static func storage(
        _ store: Configuration.FileStore, _ configuration: Configuration, folder: String, database: String,
        meters: FileStoreMeters = FileStoreMeters(), logger: Logger
    ) throws -> any FileStorage {
        switch store {
        case .disk: return DiskStorage(directory: folder)
        case .postgres(let options):
            return PostgresStorage(options, configuration, connectionString: database, logger: logger)
        case .s3(let bucket):
            let provider = try CredentialChain.provider(
                bucket.key, region: bucket.region, configuration.cloudVariables, configuration.outgoing)
            let signer = AWSSigner(
                region: bucket.region, credentials: CredentialSource(provider, logger: logger))
            return try storage(bucket, signer, configuration, meters, logger: logger)
        case .google(let store):
            let signer = GoogleSigner(tokens: try CredentialSource(store, configuration, logger: logger))
            return try storage(store.bucket, signer, configuration, meters, logger: logger)
        }
    }

    private static func storage(
        _ bucket: Configuration.S3, _ signer: any StoreSigner, _ configuration: Configuration,
        _ meters: FileStoreMeters, logger: Logger
    ) throws -> S3Storage {
        var outgoing = configuration.outgoing
        if bucket.endpoint?.isLoopback == true { outgoing.proxy = nil }
        // Separate from the connections for emails and sign-ins, which files must not occupy.
        let caller = try HTTPCaller(outgoing, connectionsPerHost: 128, keptFor: .seconds(5), connectTime: .seconds(3))
        let reader = try HTTPCaller(
            outgoing, connectionsPerHost: S3Client.maxDownloads, keptFor: .seconds(5), connectTime: .seconds(3))
        return S3Storage(
            S3Client(bucket, caller: caller, reader: reader, signer: signer, meters: meters, logger: logger),
            preservesNames: configuration.preserveFileName)
    }
}
