public import CloudCode
package import Console
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
    /// How the console makes backups; nil for no way.
    package var backups: BackupMaker?

    /// Adds nothing.
    public init() {}
}
