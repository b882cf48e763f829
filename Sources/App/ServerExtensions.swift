public import CloudCode
public import FileStorage
public import HTTP
public import Operations

/// What a deployment adds to the server, or puts in place of its parts.
public struct ServerExtensions: Sendable {
    /// Triggers, observers, providers.
    public var backend = BackendExtensions()
    /// Where cloud code runs, besides the hosts that the server has by itself.
    public var cloudHosts: [any CloudHost] = []
    /// Where uploaded files are; nil for the folder of the server.
    public var files: (any FileStorage)?
    /// WebSocket connections, figures about requests.
    public var http = HTTPServer.Additions()

    /// Adds nothing.
    public init() {}
}
