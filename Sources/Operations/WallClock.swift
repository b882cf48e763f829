public import ParseModel

/// What time it is: what dates objects, ends sessions and tokens, and tells when a job is due.
public struct WallClock: Sendable {
    /// The clock of the system.
    public static let system = WallClock { .now }

    private let read: @Sendable () -> ParseDate

    /// Makes a clock.
    ///
    /// - Parameter read: Gives the present time. Requests call it at once and often: it must not wait.
    public init(_ read: @escaping @Sendable () -> ParseDate) { self.read = read }

    /// The present time.
    public var now: ParseDate { read() }
}
