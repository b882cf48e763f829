public import FileStorage
public import Operations

/// What a deployment adds to the server, or puts in place of its parts.
public struct ServerExtensions: Sendable {
    /// Triggers, observers, providers.
    public var backend = BackendExtensions()
    /// Where uploaded files are; nil for the folder of the server.
    public var files: (any FileStorage)?

    /// Adds nothing.
    public init() {}
}
