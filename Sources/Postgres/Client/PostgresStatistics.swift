/// How the client stands at one moment.
public struct PostgresStatistics: Sendable {
    /// Connections that are open.
    public var connections = 0
    /// Requests that were sent and not answered yet.
    public var inFlight = 0
    /// Requests that wait for a connection.
    public var waiting = 0
    /// Prepared statements on all connections.
    public var preparedStatements = 0
    /// Connections that broke, or could not be made, since the client started.
    public var reconnects = 0
}
